/*
 * The order of rings from NCCL's graph search, which NCCL writes to NCCL_GRAPH_DUMP_FILE (2.28,
 * src/graph/search.cc, ncclTopoGetXmlFromGraphs). Rank 0 of each communicator lists its node's GPUs
 * there by their NVML index. `contend comms` sets the name of the file, unless the user has. The
 * plugin renames the file when that rank joins, right after NCCL has written it.
 *
 * Only for communicators of one node: between nodes NCCL joins the parts of a ring later. The rings
 * are the first min(ring, tree) channels; further channels repeat them (src/graph/connect.cc,
 * ncclTopoPostset). A graph must name exactly the GPUs of the communicator's ranks, once in each
 * ring. Otherwise it is of another communicator and is left out.
 */
#ifndef CONTEND_COMMS_ORDER_H
#define CONTEND_COMMS_ORDER_H

#include "harness/comms/merge.h"
#include "harness/comms/plugin/counters.h"

enum { COMMS_RINGS = 64, COMMS_RING_GPUS = 64 };

struct comms_graph {
    size_t nrings, ngpus;
    uint32_t gpu[COMMS_RINGS][COMMS_RING_GPUS]; /* by NVML's index */
};

/* `text` ends in 0. False: it is not a graph, or not complete. */
bool comms_graph_parse(const char *text, struct comms_graph *graph);

/* Sets communicator->order, or returns false. `counted`: of its machine, in NVML's order. */
bool comms_order_set(const struct comms_graph *graph, const struct comms_counted *counted,
                     struct comms_communicator *communicator);

/* Reads the graphs of all communicators in the directory. Other files are ignored. */
void comms_orders_read(const char *directory, const struct comms_counters *counters,
                       struct comms *comms);

#endif
