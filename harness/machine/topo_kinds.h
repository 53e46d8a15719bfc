/* Ranks kinds of cores, and merges those that differ by less than users care for: firmware may tell
 * five where the chip has two. Pure. */
#ifndef CONTEND_MACHINE_TOPO_KINDS_H
#define CONTEND_MACHINE_TOPO_KINDS_H

enum { TOPO_KINDS_MAX = 64 };

/* A kind as the system tells it. */
struct topo_kind {
    double capacity;          /* relative speed, 1024 = the fastest core; 0 = unknown */
    double max_mhz, base_mhz; /* 0 = unknown */
    int efficiency;           /* hwloc's rank, 0 = the slowest; -1 = unknown */
    char design[32];          /* "IntelAtom"; "" = unknown */
};

/*
 * Fills merged[n], the kind that each belongs to, 0 = slowest, and returns how many remain. The
 * rank is that of the capacities, else hwloc's, else that of the clocks; without any, all are one
 * kind. A kind joins a faster one of at most 10% more capacity. Without capacities it joins one of
 * the same design if no clock differs by more than 10%.
 */
unsigned topo_kinds_merge(const struct topo_kind *kinds, unsigned n, int *merged);

#endif
