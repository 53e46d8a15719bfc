/*
 * Of `contend comms`: calls of NCCL that a benchmark knows it made, which a profiler's count of
 * them is held against; and the names of files that its plugin leaves in a folder.
 */
#ifndef CONTEND_CONTRACT_COMMS_H
#define CONTEND_CONTRACT_COMMS_H

#include <stddef.h>
#include <stdint.h>

enum { MADE_FUNCS = 8, MADE_NAME_MAX = 16 };

struct expected_sum {
    uint64_t calls, bytes; /* by all ranks of the process; count times size, as each call says */
    uint64_t captured; /* more of them, while CUDA graphs were captured: replays are not known */
};

/* The calls of one process. Zeroed = none. */
struct expected_calls {
    size_t n;
    struct expected_func {
        char name[MADE_NAME_MAX]; /* as NCCL names it to profilers: "AllReduce" */
        struct expected_sum sum;
    } func[MADE_FUNCS];
};

#define COMMS_SUFFIX ".comms" /* part of each but the one below */
#define COMMS_PORTS_NAME "links.csv"

#endif
