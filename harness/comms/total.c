#include "harness/comms/total.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"
#include "harness/record/csv.h"

struct maker {
    const struct comms *comms;
    struct comms_total *total;
    size_t capacity;
    struct err *err;
};

double comms_log10(uint64_t value)
{
    return value ? log10((double)value) : NAN;
}

const char *comms_call_gpu(const struct comms_gpu *gpu)
{
    if (!gpu->log)
        return str_fmt("rank %u of communicator %zu, without a log", gpu->rank,
                       gpu->communicator + 1);
    return text_one_line(str_fmt("%s%s%s, process %" PRId64 " (%s)%s", gpu->log->header.host,
                                 gpu->pci[0] ? ", GPU " : "", gpu->pci, gpu->log->header.pid,
                                 gpu->log->header.program,
                                 gpu->slot ? str_fmt(", GPU %u of it", gpu->slot + 1) : ""));
}

/* ---- which GPUs there are ---- */

static int add_gpu(struct maker *maker, const struct comms_gpu *gpu, uint32_t *at)
{
    struct comms_total *total = maker->total;
    struct comms_gpu *added = array_add(total->gpu, total->matrix.n, maker->capacity);
    if (!added)
        return err_set(maker->err, -ENOMEM, "no memory for %u GPUs", total->matrix.n + 1);
    *at = total->matrix.n - 1;
    *added = *gpu;
    return 0;
}

static bool is_same(const struct comms_gpu *a, const struct comms_gpu *b)
{
    if (!a->log || !b->log)
        return false;
    if (a->pci[0])
        return !strcmp(a->pci, b->pci) && !strcmp(a->log->header.host, b->log->header.host);
    return !b->pci[0] && a->log == b->log && a->slot == b->slot;
}

static int find_gpu(struct maker *maker, const struct comms_gpu *gpu, uint32_t *at)
{
    const struct comms_total *total = maker->total;
    for (*at = 0; *at < total->matrix.n; ++*at)
        if (is_same(gpu, &total->gpu[*at]))
            return 0;
    return add_gpu(maker, gpu, at);
}

/* How many earlier ranks are of the same process; each rank counts once. */
static uint32_t slot_of(const struct comms_communicator *communicator, size_t at)
{
    uint32_t slot = 0;
    const struct comms_rank *present = communicator->present;
    for (size_t i = 0; i < at; i++)
        slot += present[i].log == present[at].log && present[i].rank != present[i + 1].rank;
    return slot;
}

static int place_present(struct maker *maker, size_t c)
{
    const struct comms_communicator *communicator = &maker->comms->communicator[c];
    uint32_t *gpu_of = maker->total->gpu_of[c];
    int rc = 0;
    for (size_t i = 0; i < communicator->npresent && !rc; i++) {
        const struct comms_rank *rank = &communicator->present[i];
        struct comms_gpu gpu = {.log = rank->log, .communicator = c, .rank = rank->rank};
        text_set(gpu.pci, "%s", rank->gpu);
        gpu.slot = gpu.pci[0] ? 0 : slot_of(communicator, i);
        if (gpu_of[rank->rank] != COMMS_NO_GPU) /* in two logs */
            continue;
        rc = find_gpu(maker, &gpu, &gpu_of[rank->rank]);
        if (rc)
            break;
        struct comms_gpu *found = &maker->total->gpu[gpu_of[rank->rank]];
        found->ranks++;
        maker->total->assumed |= gpu.slot > 0 && found->communicator != c;
    }
    return rc;
}

/* Checks bytes, too: with several rings only the first ring counts the calls. */
static bool has_any(const struct comms_matrix *matrix, uint32_t from, uint32_t to)
{
    size_t at = (size_t)from * matrix->n + to;
    return matrix->bytes[at] || matrix->calls[at];
}

/* Adds ranks without a log that still have traffic, from the logs of other ranks. */
static int place_absent(struct maker *maker, size_t c, const struct comms_matrix *matrix)
{
    uint32_t *gpu_of = maker->total->gpu_of[c];
    int rc = 0;
    for (uint32_t rank = 0; rank < matrix->n && !rc; rank++) {
        bool used = false;
        for (uint32_t other = 0; gpu_of[rank] == COMMS_NO_GPU && other < matrix->n; other++)
            used |= has_any(matrix, rank, other) || has_any(matrix, other, rank);
        const struct comms_gpu gpu = {.communicator = c, .rank = rank};
        if (used)
            rc = add_gpu(maker, &gpu, &gpu_of[rank]);
    }
    return rc;
}

static int place(struct maker *maker, size_t c)
{
    const struct comms_matrix *matrix = &maker->comms->communicator[c].matrix;
    maker->total->left_out += !matrix->n;
    uint32_t *gpu_of = matrix->n ? malloc(matrix->n * sizeof(*gpu_of)) : NULL;
    if (!gpu_of)
        return matrix->n ? err_set(maker->err, -ENOMEM, "no memory for %u ranks", matrix->n) : 0;
    memset(gpu_of, 0xff, matrix->n * sizeof(*gpu_of)); /* COMMS_NO_GPU */
    maker->total->gpu_of[c] = gpu_of;
    int rc = place_present(maker, c);
    return rc ? rc : place_absent(maker, c, matrix);
}

/* ---- what went between them ---- */

static bool add(uint64_t *cells, size_t at, uint64_t more)
{
    return __builtin_add_overflow(cells[at], more, &cells[at]);
}

/* True: a sum exceeds 64 bits. */
static bool add_communicator(struct comms_matrix *all, const struct comms_matrix *one,
                             const uint32_t *gpu_of)
{
    bool over = false;
    for (size_t cell = 0; cell < (size_t)one->n * one->n; cell++) {
        uint32_t from = gpu_of[cell / one->n], to = gpu_of[cell % one->n];
        if (from == COMMS_NO_GPU || to == COMMS_NO_GPU)
            continue;
        size_t at = (size_t)from * all->n + to;
        all->calls[at] += one->calls[cell];
        over |= add(all->bytes, at, one->bytes[cell]);
        over |= add(all->wire, at, one->wire[cell]);
        over |= add(all->flags, at, one->flags[cell]);
    }
    all->how = one->how > all->how ? one->how : all->how;
    all->trees |= one->trees;
    all->unknown_calls += one->unknown_calls;
    all->unknown_bytes += one->unknown_bytes;
    return over;
}

int comms_total_make(const struct comms *comms, struct comms_total *total, struct err *err)
{
    struct maker maker = {.comms = comms, .total = total, .err = err};
    bool over = false;
    *total = (struct comms_total){.ncommunicators = comms->n};
    total->gpu_of = calloc(comms->n + 1, sizeof(*total->gpu_of));
    int rc = total->gpu_of ? 0 : err_set(err, -ENOMEM, "no memory for a matrix");
    for (size_t c = 0; c < comms->n && !rc; c++)
        rc = place(&maker, c);
    struct comms_matrix *matrix = &total->matrix;
    if (!rc && matrix->n > COMMS_MATRIX_RANKS)
        rc = err_set(err, -E2BIG, "no matrix of more than %d GPUs", COMMS_MATRIX_RANKS);
    if (!rc && !comms_matrix_alloc(matrix))
        rc = err_set(err, -ENOMEM, "no memory for a matrix of %u GPUs", matrix->n);
    for (size_t c = 0; c < comms->n && !rc; c++)
        if (total->gpu_of[c])
            over |= add_communicator(matrix, &comms->communicator[c].matrix, total->gpu_of[c]);
    if (over)
        rc = err_set(err, -EOVERFLOW, "more bytes than 64 bits hold: logs are corrupted");
    if (rc)
        comms_total_free(total);
    return rc;
}

void comms_total_free(struct comms_total *total)
{
    for (size_t c = 0; total->gpu_of && c < total->ncommunicators; c++)
        free(total->gpu_of[c]);
    free(total->gpu_of);
    free(total->gpu);
    comms_matrix_free(&total->matrix);
    *total = (struct comms_total){0};
}

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
    text_set(port->host, "%s", cell[HOST]);
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

struct links_maker {
    const struct comms_total *total;
    const struct comms_ports *ports;
    struct comms_links *links;
    struct err *err;
};

static const struct gpu_link *find_port(const struct links_maker *maker,
                                        const struct comms_gpu *gpu, enum gpu_way way,
                                        const char *to)
{
    for (size_t i = 0; gpu->pci[0] && i < maker->ports->n; i++) {
        const struct comms_port *port = &maker->ports->port[i];
        if (port->link.way == way && !strcmp(port->link.pci, gpu->pci) &&
            !strcmp(port->link.to, to) && !strcmp(port->host, gpu->log->header.host))
            return &port->link;
    }
    return NULL;
}

static bool links_is_same(const struct links_maker *maker, const struct comms_link *a,
                          const struct comms_link *b)
{
    const struct comms_gpu *gpu = maker->total->gpu;
    if (a->way != b->way || a->in != b->in || a->to != b->to)
        return false;
    return a->way == COMMS_NETWORK
               ? !strcmp(gpu[a->gpu].log->header.host, gpu[b->gpu].log->header.host)
               : a->gpu == b->gpu;
}

static int links_add(struct links_maker *maker, const struct comms_link *link)
{
    struct comms_links *links = maker->links;
    for (size_t i = 0; i < links->n; i++)
        if (links_is_same(maker, &links->link[i], link)) {
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
static int add_both(struct links_maker *maker, enum gpu_way way, uint32_t from, uint32_t to,
                    const double gbps[static 2], uint64_t bytes)
{
    const struct comms_link out = {.way = way, .gpu = from, .bytes = bytes, .gbps = gbps[0]};
    const struct comms_link in = {
        .way = way, .in = true, .gpu = to, .bytes = bytes, .gbps = gbps[1]};
    int rc = links_add(maker, &out);
    return rc ? rc : links_add(maker, &in);
}

static int add_pair(struct links_maker *maker, uint32_t from, uint32_t to, uint64_t bytes)
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
        return links_add(maker, &link);
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
    struct links_maker maker = {total, ports, links, err};
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
