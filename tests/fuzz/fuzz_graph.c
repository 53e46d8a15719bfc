/*
 * Any bytes as the graph that NCCL writes for a communicator: refused, or valid rings that can be
 * compared with a communicator of as many ranks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct comms_rank present[COMMS_RING_GPUS];
static struct comms_counted counted;

/* GPU i of the machine belongs to rank i. */
static struct comms_communicator communicator_of(uint32_t n)
{
    counted.counts.n = n;
    for (uint32_t i = 0; i < n; i++) {
        present[i].rank = i;
        (void)snprintf(present[i].gpu, sizeof(present[i].gpu), "0000:%02x:00.0", i);
        memcpy(counted.counts.gpu[i].pci_bdf, present[i].gpu, sizeof(present[i].gpu));
    }
    return (struct comms_communicator){.nranks = n, .nodes = 1, .npresent = n, .present = present};
}

static void hold_against(const struct comms_graph *graph)
{
    uint32_t n = graph->ngpus <= NVLINK_GPUS ? (uint32_t)graph->ngpus : NVLINK_GPUS;
    struct comms_communicator communicator = communicator_of(n);
    if (!comms_order_set(graph, &counted, &communicator))
        return;
    for (size_t i = 0; i < communicator.order.nrings * n; i++)
        if (communicator.order.rank[i] >= n)
            abort();
    free(communicator.order.rank);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct comms_graph graph;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (comms_graph_parse(text, &graph)) {
        if (!graph.nrings || graph.nrings > COMMS_RINGS || !graph.ngpus ||
            graph.ngpus > COMMS_RING_GPUS)
            abort();
        hold_against(&graph);
    }
    free(text);
    return 0;
}
