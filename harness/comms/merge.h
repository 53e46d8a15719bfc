/* Merges the logs of all processes into communicators: the ranks of each, and their work. */
#ifndef CONTEND_COMMS_MERGE_H
#define CONTEND_COMMS_MERGE_H

#include "harness/comms/matrix.h"
#include "harness/comms/plugin/counters.h"
#include "harness/comms/summary.h"
#include "harness/engine/contract/bench.h"

/* A rank that has a log. */
struct comms_rank {
    uint32_t rank;
    const struct comms_log *log;       /* borrowed */
    const struct comms_member *member; /* borrowed */
    char gpu[PCI_BDF_MAX];             /* "0000:00:06.0"; "" = unknown */
};

/* The work of one rank, by key; `member` of the key is unused. */
struct comms_done {
    uint32_t rank;
    struct comms_count count;
};

/*
 * Rings in NCCL's order: rank[ring * nranks + i]. Channel c takes ring c % nrings, and the channels
 * of a call share its bytes evenly. Zeroed = unknown.
 */
struct comms_order {
    size_t nrings;
    uint32_t *rank; /* owned */
};

struct comms_communicator {
    uint64_t id;
    /* Not reported by interfaces 1 to 3 (`size_known` is false). Then 1 + the highest rank that was
     * seen or named, and the number of hosts. */
    uint32_t nranks, nodes;
    bool size_known;
    char name[COMMS_NAME_MAX];
    size_t npresent, ndone;
    struct comms_rank *present; /* owned, by rank; a rank in two logs is there twice */
    struct comms_done *done;    /* owned, by rank */
    struct comms_order order;
    /* Filled by comms_measure. */
    struct comms_summary work, called;
    struct comms_matrix matrix; /* n is 0 if there are more ranks than a matrix may have */
    struct comms_arrival arrival;
};

struct comms {
    size_t n, capacity;
    struct comms_communicator *communicator; /* owned, in the order in which they began */
    size_t unidentified; /* ranks of an unknown communicator: NCCL reported no call of theirs */
};

/* Borrows the logs. -ENOMEM only. */
int comms_merge(const struct comms_logs *logs, struct comms *comms, struct err *err);
/* Fills the fields that are named above. Errors: -ENOMEM, -EOVERFLOW; comms_free frees them. */
int comms_measure(struct comms_communicator *communicator, struct err *err);
void comms_unmeasure(struct comms_communicator *communicator);
void comms_free(struct comms *comms);

/* How often a rank is present, and its first entry; *first is NULL if there is none. */
size_t comms_find_rank(const struct comms_communicator *communicator, uint32_t rank,
                       const struct comms_rank **first);

/* ---- the last events of all logs, on one axis of time ---- */

struct comms_moment {
    uint64_t time_ns; /* when it was enqueued, since the first moment, by the machines' clocks */
    uint64_t key;     /* comms_key_unpack; its member is meaningless here */
    uint64_t bytes, duration_ns; /* 0 = not timed */
    uint32_t communicator, rank; /* communicator: from 0 */
};

struct comms_timeline {
    size_t n;
    struct comms_moment *moment; /* owned, in the order of time */
    uint64_t dropped;            /* earlier events, which only the sums include */
    uint64_t span_ns;            /* from the first to the last */
};

/* -ENOMEM only. */
int comms_timeline_make(const struct comms_logs *logs, const struct comms *comms,
                        struct comms_timeline *timeline, struct err *err);
void comms_timeline_free(struct comms_timeline *timeline);

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
