#include "harness/comms/view/order.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/files/file.h"

enum { RING, TREE, FILE_MOST = 1 << 22 };

/* ---- NCCL's XML: one element a line, without text ---- */

/* The number of an attribute, " name=\"" with its blank, decimal or 0x...; -1 = none. */
static long number_of(const char *tag, size_t size, const char *name)
{
    char text[512], *end;
    if (size >= sizeof(text))
        return -1;
    memcpy(text, tag, size);
    text[size] = '\0';
    const char *at = strstr(text, name);
    if (!at)
        return -1;
    long number = strtol(at + strlen(name), &end, 0);
    return *end == '"' && end > at + strlen(name) && number >= 0 ? number : -1;
}

struct parser {
    struct comms_graph *graph;
    long id;            /* of the graph that is read */
    size_t channels[2]; /* of ring and tree */
    size_t gpus;        /* of this channel */
    bool is_good, has_end;
};

static bool begins(const char *tag, const char *with)
{
    return strncmp(tag, with, strlen(with)) == 0;
}

static void take_gpu(struct parser *parser, long gpu)
{
    size_t ring = parser->channels[RING];
    parser->is_good &=
        gpu >= 0 && gpu < NVLINK_GPUS && parser->gpus < COMMS_RING_GPUS && ring < COMMS_RINGS;
    if (parser->is_good)
        parser->graph->gpu[ring][parser->gpus] = (uint32_t)gpu;
    parser->gpus++;
}

static void end_ring(struct parser *parser)
{
    if (!parser->channels[RING])
        parser->graph->ngpus = parser->gpus;
    parser->is_good &= parser->gpus > 0 && parser->gpus == parser->graph->ngpus;
    parser->gpus = 0; /* an end without a beginning is no ring */
}

static void take_tag(struct parser *parser, const char *tag, size_t size)
{
    bool counts = parser->id == RING || parser->id == TREE;
    if (begins(tag, "graph "))
        parser->id = number_of(tag, size, " id=\"");
    else if (begins(tag, "/graphs"))
        parser->has_end = true;
    else if (begins(tag, "channel"))
        parser->gpus = 0;
    else if (begins(tag, "gpu ") && parser->id == RING)
        take_gpu(parser, number_of(tag, size, " dev=\""));
    else if (begins(tag, "/channel") && counts) {
        if (parser->id == RING)
            end_ring(parser);
        parser->channels[parser->id]++;
    }
}

bool comms_graph_parse(const char *text, struct comms_graph *graph)
{
    struct parser parser = {.graph = graph, .id = -1, .is_good = begins(text, "<graphs version=")};
    *graph = (struct comms_graph){0};
    const char *end;
    for (const char *at = text; parser.is_good && (at = strchr(at, '<')); at = end) {
        end = strchr(at, '>');
        if (!end)
            return false;
        take_tag(&parser, at + 1, (size_t)(end - at - 1));
    }
    size_t rings = parser.channels[RING], trees = parser.channels[TREE];
    graph->nrings = rings < trees ? rings : trees;
    return parser.is_good && parser.has_end && graph->nrings > 0;
}

/* ---- GPUs -> ranks ---- */

static const struct comms_rank *rank_on(const struct comms_communicator *communicator,
                                        const char *gpu)
{
    for (size_t i = 0; gpu[0] && i < communicator->npresent; i++)
        if (strcmp(communicator->present[i].gpu, gpu) == 0)
            return &communicator->present[i];
    return NULL;
}

/* False: these are not the communicator's ranks, each once. */
static bool set_ring(const uint32_t *gpus, const struct comms_counted *counted,
                     const struct comms_communicator *communicator, uint32_t *ring)
{
    uint32_t n = communicator->nranks;
    for (uint32_t i = 0; i < n; i++) {
        const struct comms_rank *rank =
            gpus[i] < counted->counts.n
                ? rank_on(communicator, counted->counts.gpu[gpus[i]].pci_bdf)
                : NULL;
        if (!rank)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (ring[j] == rank->rank)
                return false;
        ring[i] = rank->rank;
    }
    return true;
}

bool comms_order_set(const struct comms_graph *graph, const struct comms_counted *counted,
                     struct comms_communicator *communicator)
{
    uint32_t n = communicator->nranks;
    if (graph->ngpus != n || communicator->npresent != n || communicator->nodes != 1)
        return false;
    uint32_t *rank = calloc(graph->nrings * n, sizeof(*rank));
    bool good = rank != NULL;
    for (size_t r = 0; good && r < graph->nrings; r++)
        good = set_ring(graph->gpu[r], counted, communicator, &rank[r * n]);
    if (good)
        communicator->order = (struct comms_order){graph->nrings, rank};
    else
        free(rank);
    return good;
}

/* ---- files ---- */

static const struct comms_counted *counted_of(const struct comms_counters *counters,
                                              const char *host)
{
    for (size_t i = 0; i < counters->n; i++)
        if (strcmp(counters->counted[i].host, host) == 0)
            return &counters->counted[i];
    return NULL;
}

static void read_order(int dir_fd, const struct comms_counters *counters,
                       struct comms_communicator *communicator)
{
    char name[512], *text = NULL;
    size_t size;
    const struct comms_rank *first;
    struct comms_graph graph;
    if (communicator->nranks < 3 || comms_find_rank(communicator, 0, &first) != 1)
        return;
    const struct comms_counted *counted = counted_of(counters, first->log->header.host);
    int n = snprintf(name, sizeof(name), "%s.%zu" COMMS_GRAPH_SUFFIX, first->log->name,
                     (size_t)(first->member - first->log->member));
    if (!counted || n >= (int)sizeof(name) || file_read(dir_fd, name, FILE_MOST, &text, &size))
        return;
    if (comms_graph_parse(text, &graph))
        (void)comms_order_set(&graph, counted, communicator);
    free(text);
}

void comms_orders_read(const char *directory, const struct comms_counters *counters,
                       struct comms *comms)
{
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return;
    for (size_t i = 0; i < comms->n; i++)
        read_order(dir_fd, counters, &comms->communicator[i]);
    (void)close(dir_fd);
}
