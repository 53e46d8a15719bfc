/* Sums of a communicator: a line for each collective, algorithm and protocol. Pure. */
#ifndef CONTEND_COMMS_SUMMARY_H
#define CONTEND_COMMS_SUMMARY_H

#include "harness/comms/plugin/read.h"

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

#endif
