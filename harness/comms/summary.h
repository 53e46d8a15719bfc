/* Sums of a communicator: a line for each collective, algorithm and protocol. Pure. */
#ifndef CONTEND_COMMS_SUMMARY_H
#define CONTEND_COMMS_SUMMARY_H

#include "harness/comms/cause.h"

struct comms_communicator;

enum {
    COMMS_SIZES = 65,
    COMMS_LINES_MOST = 1024 /* 11 collectives, 11 algorithms, 4 protocols, captured or not */
};

struct comms_line {
    uint32_t func, algo, proto;
    bool captured;
    /*
     * Collectives: of the rank that made the most calls, as every rank makes each call. Sends and
     * receives: of all ranks.
     */
    uint64_t calls, bytes;
    uint64_t least, most;        /* fewest and most calls of a rank that is present */
    uint64_t sizes[COMMS_SIZES]; /* `calls` by comms_bucket */
    uint64_t size_bytes[COMMS_SIZES];
    uint64_t any_size;                           /* calls whose size was not kept */
    uint64_t timed_calls, timed_ns, timed_bytes; /* of all ranks */
};

struct comms_summary {
    size_t n;
    struct comms_line *line; /* owned; in the order of collectives, then algorithms, ... */
};

/* Sums the work, without COMMS_CALLED; with `called`, only COMMS_CALLED. Errors: -ENOMEM only. */
int comms_summary_make(const struct comms_communicator *communicator, bool called,
                       struct comms_summary *lines, struct err *err);
void comms_summary_free(struct comms_summary *lines);

/*
 * The mean GPU time t of timed calls, in s, and the bandwidths of nccl-tests (doc/PERFORMANCE.md),
 * in bytes/s. algbw = S / t, where S is the size of a call; for all-gather, reduce-scatter and
 * all-to-all, S is that of all ranks together. busbw = algbw times 2(n-1)/n for all-reduce, (n-1)/n
 * for those three, 1 for broadcast and reduce. NaN: not timed, or not defined.
 */
struct comms_speed {
    double time, algbw, busbw;
};
struct comms_speed comms_line_speed(const struct comms_line *line, uint32_t nranks);

/* "3 from 4 KiB, 2 of any size"; "13.33" GB/s, "-" for NaN. Both return buf. */
const char *comms_call_sizes(const struct comms_line *line);
const char *comms_gigabytes(double rate);

/* Ranks that are present, each once. */
size_t comms_ranks_present(const struct comms_communicator *communicator);

bool comms_is_point_to_point(uint32_t func);

/*
 * Which ranks come late to a communicator's collectives. Each call has the same number on all
 * ranks, and ranks of one machine enqueue it by the same clock (CLOCK_MONOTONIC). Covers only the
 * last events (record.h), without the first call, which sets up connections. Pure.
 *
 * GPU times show which ranks waited. A collective ends at about the same time on all ranks, so the
 * rank with the longest time waited longest for the last rank, which does not wait: waited = its
 * time less the shortest time of the same call.
 */
struct comms_communicator;

struct comms_arrival_rank {
    uint32_t rank;
    uint64_t last;                /* calls for which it came last */
    uint64_t late_ns;             /* sum over calls of its delay after the first rank */
    uint64_t alone_ns;            /* for which only it was missing */
    uint64_t timed_ns, waited_ns; /* on its GPU, of the calls that all ranks timed */
    int64_t pid;                  /* 0: it destroyed the communicator */
    struct comms_spent spent;
    struct comms_cause cause; /* of a late rank; COMMS_PARTS = none */
};

/* Zeroed = nothing to compare. */
struct comms_arrival {
    size_t n;
    struct comms_arrival_rank *rank; /* owned; ranks that are present, in their order */
    uint64_t calls;                  /* that all ranks have; 0 also with several machines */
    uint64_t begin_ns;
    uint64_t span_ns; /* from the first to the last enqueue of these calls */
    uint64_t timed;   /* calls that all ranks timed */
    bool one_process; /* one process has all ranks */
    size_t first;     /* index of the rank that is least late */
};

/* -ENOMEM only. */
int comms_arrival_make(const struct comms_communicator *communicator, struct comms_arrival *arrival,
                       struct err *err);
void comms_arrival_free(struct comms_arrival *arrival);

/* The share of their GPU time that all ranks together waited for the slowest; NaN: not timed. */
double comms_arrival_waited(const struct comms_arrival *arrival);

/*
 * Reports comms_late for a rank that came last to 80% of at least 20 calls, by more than 1% of the
 * time from one call to the next; or for which alone all others waited over 5% of the time, six
 * times as long as for any other rank. Not if GPU times show that ranks waited less than 1%.
 * Reports comms_late_cause with it if the logs tell the cause.
 * Reports comms_in_turn instead if one process has all ranks and the same rank is always last: a
 * thread that enqueues the ranks in turn does so.
 */
void comms_arrival_judge(const struct comms_arrival *arrival, const struct findings_about *about);

#endif
