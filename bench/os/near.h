/* Another CPU at a given distance from the first one that this worker may use, as reported. */
#ifndef CONTEND_BENCH_OS_NEAR_H
#define CONTEND_BENCH_OS_NEAR_H

#include "harness/contract/bench.h"

enum near {
    NEAR_SIBLING, /* another thread of its core */
    NEAR_CACHE,   /* another core under its last-level cache */
    NEAR_NODE,    /* another last-level cache, the same NUMA node and package */
    NEAR_REMOTE,  /* another NUMA node or package */
    NEARS
};

/* "all", and "sibling", "cache", "node", "remote", NULL: for options and keys. */
extern const char *const near_names[];

/* The place in machine->cpus of the first such CPU. -ENOTSUP, with the name of the missing one. */
int near_find(const struct bench_machine *machine, enum near near, unsigned *place,
              struct err *err);

#endif
