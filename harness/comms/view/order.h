/*
 * The order of rings as NCCL's graph search gives it: what NCCL writes to NCCL_GRAPH_DUMP_FILE
 * (2.28, src/graph/search.cc, ncclTopoGetXmlFromGraphs), where rank 0 of each communicator has its
 * node's GPUs by their NVML index. `contend comms` names the file, unless the user has, and the
 * plugin takes it when that rank joins, right behind NCCL's writing it.
 *
 * Of communicators of one node alone: between nodes NCCL joins the parts of a ring later. The rings
 * are the first min(ring, tree) channels, the others repeat them (src/graph/connect.cc,
 * ncclTopoPostset). Whatever does not name just the GPUs of the communicator's ranks, once in each
 * ring, was another communicator's and is left out.
 */
#ifndef CONTEND_COMMS_VIEW_ORDER_H
#define CONTEND_COMMS_VIEW_ORDER_H

#include "harness/comms/logs/counters.h"
#include "harness/comms/view/merge.h"

enum { COMMS_RINGS = 64, COMMS_RING_GPUS = 64 };

struct comms_graph {
    size_t nrings, ngpus;
    uint32_t gpu[COMMS_RINGS][COMMS_RING_GPUS]; /* by NVML's index */
};

/* `text` ends in 0. False: it is none that NCCL wrote whole. */
bool comms_graph_parse(const char *text, struct comms_graph *graph);

/* True: communicator->order is set. `counted`: of its machine, in NVML's order. Else nothing is. */
bool comms_order_set(const struct comms_graph *graph, const struct comms_counted *counted,
                     struct comms_communicator *communicator);

/* Reads the graphs of all communicators in the directory. Other files are passed over. */
void comms_orders_read(const char *directory, const struct comms_counters *counters,
                       struct comms *comms);

#endif
