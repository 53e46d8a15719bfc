#include "harness/comms/links.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/record/csv_read.h"

/* ---- links.csv ---- */

enum { HOST, PCI, WAY, TO, LINKS, GBPS, COLUMNS };

static bool read_way(const char *text, enum gpu_way *way)
{
    for (*way = 0; *way < GPU_WAYS; ++*way)
        if (!strcmp(text, gpu_way_name(*way)))
            return true;
    return false;
}

static bool read_port(char *const cell[static COLUMNS], struct comms_port *port)
{
    char *end, *links_end;
    struct gpu_link *link = &port->link;
    *port = (struct comms_port){0};
    if (strlen(cell[HOST]) >= sizeof(port->host) || pci_bdf_normalise(cell[PCI], link->pci) ||
        !read_way(cell[WAY], &link->way) ||
        (link->way == GPU_WAY_NVLINK) != !pci_bdf_normalise(cell[TO], link->to))
        return false;
    (void)snprintf(port->host, sizeof(port->host), "%s", cell[HOST]);
    unsigned long links = strtoul(cell[LINKS], &links_end, 10);
    link->links = (unsigned)links;
    link->gbps = strtod(cell[GBPS], &end);
    return links_end != cell[LINKS] && !*links_end && links <= 1024 && end != cell[GBPS] && !*end &&
           link->gbps >= 0 && link->gbps < 1e6;
}

int comms_ports_parse(char *text, size_t size, struct comms_ports *ports, struct err *err)
{
    struct csv_reader reader;
    char *cell[COLUMNS];
    size_t before = ports->n;
    int rc = csv_read_header(&reader, COMMS_PORTS_NAME, text, size, COMMS_PORTS_COLUMNS, err);
    while (!rc && (rc = csv_read(&reader, cell, COLUMNS, err))) {
        struct comms_port *port = array_add(ports->port, ports->n, ports->capacity);
        if (!port)
            rc = err_set(err, -ENOMEM, "no memory for links");
        else
            rc = rc > 0 && read_port(cell, port) ? 0 : csv_refuse(&reader, err, "no link of a GPU");
    }
    if (rc)
        ports->n = before;
    return rc;
}

void comms_ports_free(struct comms_ports *ports)
{
    free(ports->port);
    *ports = (struct comms_ports){0};
}

/* ---- which way ---- */

struct maker {
    const struct comms_total *total;
    const struct comms_ports *ports;
    struct comms_links *links;
    struct err *err;
};

static const struct gpu_link *find_port(const struct maker *maker, const struct comms_gpu *gpu,
                                        enum gpu_way way, const char *to)
{
    for (size_t i = 0; gpu->pci[0] && i < maker->ports->n; i++) {
        const struct comms_port *port = &maker->ports->port[i];
        if (port->link.way == way && !strcmp(port->link.pci, gpu->pci) &&
            !strcmp(port->link.to, to) && !strcmp(port->host, gpu->log->header.host))
            return &port->link;
    }
    return NULL;
}

static bool is_same(const struct maker *maker, const struct comms_link *a,
                    const struct comms_link *b)
{
    const struct comms_gpu *gpu = maker->total->gpu;
    if (a->way != b->way || a->in != b->in || a->to != b->to)
        return false;
    return a->way == COMMS_NETWORK
               ? !strcmp(gpu[a->gpu].log->header.host, gpu[b->gpu].log->header.host)
               : a->gpu == b->gpu;
}

static int add(struct maker *maker, const struct comms_link *link)
{
    struct comms_links *links = maker->links;
    for (size_t i = 0; i < links->n; i++)
        if (is_same(maker, &links->link[i], link)) {
            links->link[i].bytes += link->bytes;
            return 0;
        }
    struct comms_link *added = array_add(links->link, links->n, links->capacity);
    if (!added)
        return err_set(maker->err, -ENOMEM, "no memory for links");
    *added = *link;
    return 0;
}

/* Adds to the link out of `from`, and to the link into `to`. */
static int add_both(struct maker *maker, enum gpu_way way, uint32_t from, uint32_t to,
                    const double gbps[static 2], uint64_t bytes)
{
    const struct comms_link out = {.way = way, .gpu = from, .bytes = bytes, .gbps = gbps[0]};
    const struct comms_link in = {
        .way = way, .in = true, .gpu = to, .bytes = bytes, .gbps = gbps[1]};
    int rc = add(maker, &out);
    return rc ? rc : add(maker, &in);
}

static int add_pair(struct maker *maker, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct comms_gpu *a = &maker->total->gpu[from], *b = &maker->total->gpu[to];
    const double unknown[2] = {0, 0};
    if (a->log && b->log && strcmp(a->log->header.host, b->log->header.host) != 0)
        return add_both(maker, COMMS_NETWORK, from, to, unknown, bytes);
    const struct gpu_link *direct =
        a->log && b->log ? find_port(maker, a, GPU_WAY_NVLINK, b->pci) : NULL;
    if (direct && b->pci[0]) {
        const struct comms_link link = {
            .way = GPU_WAY_NVLINK, .gpu = from, .to = to, .bytes = bytes, .gbps = direct->gbps};
        return add(maker, &link);
    }
    for (enum gpu_way way = GPU_WAY_SWITCH; way <= GPU_WAY_PCIE && a->log && b->log; way++) {
        const struct gpu_link *out = find_port(maker, a, way, "");
        const struct gpu_link *in = find_port(maker, b, way, "");
        if (out && in)
            return add_both(maker, way, from, to, (double[2]){out->gbps, in->gbps}, bytes);
    }
    maker->links->unknown_bytes += bytes;
    return 0;
}

/* By the time that the bytes of a link need; links of unknown capacity come last, by bytes. */
static int by_heat(const void *a, const void *b)
{
    const struct comms_link *x = a, *y = b;
    double p = x->gbps > 0 ? (double)x->bytes / x->gbps : 0;
    double q = y->gbps > 0 ? (double)y->bytes / y->gbps : 0;
    if (p > q || p < q)
        return p > q ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return (int)x->in - (int)y->in;
}

int comms_links_make(const struct comms_total *total, const struct comms_ports *ports,
                     const struct comms_timeline *timeline, struct comms_links *links,
                     struct err *err)
{
    struct maker maker = {total, ports, links, err};
    const struct comms_matrix *matrix = &total->matrix;
    int rc = 0;
    *links =
        (struct comms_links){.seconds = timeline->dropped ? 0 : (double)timeline->span_ns * 1e-9};
    for (uint32_t from = 0; from < matrix->n && !rc; from++)
        for (uint32_t to = 0; to < matrix->n && !rc; to++) {
            uint64_t bytes = matrix->wire[(size_t)from * matrix->n + to];
            if (bytes && from != to)
                rc = add_pair(&maker, from, to, bytes);
        }
    if (links->n)
        qsort(links->link, links->n, sizeof(*links->link), by_heat);
    if (rc)
        comms_links_free(links);
    return rc;
}

void comms_links_free(struct comms_links *links)
{
    free(links->link);
    *links = (struct comms_links){0};
}

double comms_link_share(const struct comms_links *links, const struct comms_link *link)
{
    double most = link->gbps * 1e9 * links->seconds;
    return most > 0 ? (double)link->bytes / most : NAN;
}

const char *comms_call_link(const struct comms_total *total, const struct comms_link *link)
{
    const char *which = link->in ? "into" : "out of";
    if (link->way == GPU_WAY_NVLINK)
        return str_fmt("NVLink from GPU %u to GPU %u", link->gpu, link->to);
    if (link->way == GPU_WAY_SWITCH)
        return str_fmt("NVLink %s GPU %u, %s the switch", which, link->gpu,
                       link->in ? "from" : "to");
    if (link->way == GPU_WAY_PCIE)
        return str_fmt("PCIe %s GPU %u", which, link->gpu);
    return text_one_line(str_fmt("network %s %s", which, total->gpu[link->gpu].log->header.host));
}
