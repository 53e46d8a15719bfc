/* The logs of all processes -> communicators: who took part in each, and what they did. */
#ifndef CONTEND_COMMS_VIEW_MERGE_H
#define CONTEND_COMMS_VIEW_MERGE_H

#include "harness/comms/view/arrival.h"
#include "harness/comms/view/collective_summary.h"
#include "harness/comms/view/matrix.h"
#include "harness/contract/bench.h"

/* A rank whose log is here. */
struct comms_rank {
    uint32_t rank;
    const struct comms_log *log;       /* borrowed */
    const struct comms_member *member; /* borrowed */
    char gpu[PCI_BDF_MAX];             /* "0000:00:06.0"; "" = not known */
};

/* The work of one rank, by key; `member` of the key is unused. */
struct comms_done {
    uint32_t rank;
    struct comms_count count;
};

/*
 * Rings as NCCL has laid them: rank[ring * nranks + i]. Channel c takes ring c % nrings, and the
 * channels of a call share its bytes evenly. Zeroed = not told.
 */
struct comms_order {
    size_t nrings;
    uint32_t *rank; /* owned */
};

struct comms_communicator {
    uint64_t id;
    /* Not told by interfaces 1 to 3: then the ranks that were seen, or spoken of, and their hosts.
     */
    uint32_t nranks, nodes;
    bool told;
    char name[COMMS_NAME_MAX];
    size_t npresent, ndone;
    struct comms_rank *present; /* owned, by rank; a rank that is there twice is told twice */
    struct comms_done *done;    /* owned, by rank */
    struct comms_order order;
    /* Filled by comms_measure. */
    struct comms_summary work, called;
    struct comms_matrix matrix; /* n is 0 of more ranks than a matrix may have */
    struct comms_arrival arrival;
};

struct comms {
    size_t n, capacity;
    struct comms_communicator *communicator; /* owned, in the order in which they began */
    size_t silent; /* ranks that never said of which communicator they are: they did nothing */
};

/* Borrows the logs. -ENOMEM only. */
int comms_merge(const struct comms_logs *logs, struct comms *comms, struct err *err);
/* -ENOMEM, -EOVERFLOW; comms_free frees what there is. */
int comms_measure(struct comms_communicator *communicator, struct err *err);
void comms_unmeasure(struct comms_communicator *communicator);
void comms_free(struct comms *comms);

/* How often a rank is present; NULL for *first where it is not. */
size_t comms_find_rank(const struct comms_communicator *communicator, uint32_t rank,
                       const struct comms_rank **first);

/* ---- the last events of all logs, on one axis of time ---- */

struct comms_moment {
    uint64_t time_ns; /* when it was enqueued, since the first moment, by the clocks of machines */
    uint64_t key;     /* comms_key_unpack; its member means nothing here */
    uint64_t bytes, duration_ns; /* 0 = not timed */
    uint32_t communicator, rank; /* communicator: from 0 */
};

struct comms_timeline {
    size_t n;
    struct comms_moment *moment; /* owned, in the order of time */
    uint64_t dropped;            /* before them: sums have those, the timeline has not */
    uint64_t span_ns;            /* from the first to the last */
};

/* -ENOMEM only. */
int comms_timeline_make(const struct comms_logs *logs, const struct comms *comms,
                        struct comms_timeline *timeline, struct err *err);
void comms_timeline_free(struct comms_timeline *timeline);

#endif
