/* What a communicator did, a line for each collective, algorithm and protocol. Pure. */
#ifndef CONTEND_COMMS_LINES_H
#define CONTEND_COMMS_LINES_H

#include "harness/comms/merge.h"

enum {
    COMMS_SIZES = 65,
    COMMS_LINES_MOST = 1024 /* 11 collectives, 11 algorithms, 4 protocols, captured or not */
};

struct comms_line {
    uint32_t func, algo, proto;
    bool captured;
    /*
     * Of a collective those of the rank that made the most calls, as every rank makes each of
     * them; of sends and receives those of all ranks.
     */
    uint64_t calls, bytes;
    uint64_t least, most;        /* calls of a rank that is present */
    uint64_t sizes[COMMS_SIZES]; /* calls by comms_bucket, of those above */
    uint64_t size_bytes[COMMS_SIZES];
    uint64_t any_size; /* calls of which the size was not kept */
};

struct comms_lines {
    size_t n;
    struct comms_line *line; /* owned; in the order of collectives, then algorithms, ... */
};

/* Work alone, without COMMS_CALLED, unless `called`: then those alone. -ENOMEM only. */
int comms_lines_make(const struct comms_communicator *communicator, bool called,
                     struct comms_lines *lines, struct err *err);
void comms_lines_free(struct comms_lines *lines);

/* Ranks that are present, each once. */
size_t comms_ranks_present(const struct comms_communicator *communicator);

bool comms_is_point_to_point(uint32_t func);

#endif
