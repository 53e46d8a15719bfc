#include "harness/comms/order.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"

enum { RING, TREE, FILE_MOST = 1 << 22 };

/* ---- NCCL's XML: one element a line, without text, and these attributes first ---- */

static bool begins(const char *tag, const char *with)
{
    return strncmp(tag, with, strlen(with)) == 0;
}

bool comms_graph_parse(const char *text, struct comms_graph *graph)
{
    size_t channels[2] = {0}, gpus = 0; /* of ring and tree; GPUs of this channel */
    long id = -1, gpu;
    bool ended = false;
    *graph = (struct comms_graph){0};
    if (!begins(text, "<graphs version="))
        return false;
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        if (!strchr(at, '>'))
            return false;
        if (begins(at, "<graph "))
            id = sscanf(at, "<graph id=\"%li\"", &id) == 1 ? id : -1;
        else if (begins(at, "</graphs"))
            ended = true;
        else if (begins(at, "<channel"))
            gpus = 0;
        else if (begins(at, "<gpu ") && id == RING) {
            if (sscanf(at, "<gpu dev=\"%li\"", &gpu) != 1 || gpu < 0 || gpu >= NVLINK_GPUS ||
                gpus == COMMS_RING_GPUS || channels[RING] >= COMMS_RINGS)
                return false;
            graph->gpu[channels[RING]][gpus++] = (uint32_t)gpu;
        } else if (begins(at, "</channel") && (id == RING || id == TREE)) {
            if (id == RING && !channels[RING])
                graph->ngpus = gpus;
            if (id == RING && (!gpus || gpus != graph->ngpus))
                return false;
            gpus = 0; /* so that an end tag without a start tag is no ring */
            channels[id]++;
        }
    }
    graph->nrings = channels[RING] < channels[TREE] ? channels[RING] : channels[TREE];
    return ended && graph->nrings > 0;
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
