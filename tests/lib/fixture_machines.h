/*
 * Machines as tables of facts, for tests that need more than hwloc's synthetic descriptions: GPUs,
 * distances, kinds of cores, odd numbers. They stand for classes of servers, not for one that was
 * seen. Written as the XML of hwloc 2.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_MACHINES_H
#define CONTEND_TESTS_LIB_FIXTURE_MACHINES_H

#include <stdbool.h>

enum fixture_numbering {
    NUMBER_SIBLINGS_LAST, /* first each core's first CPU, then the second ones: most servers */
    NUMBER_SIBLINGS_NEXT, /* a core's CPUs are neighbours: desktops, Arm, POWER */
    NUMBER_PACKAGES_TURN, /* 0 in package 0, 1 in package 1; siblings last */
    NUMBER_LISTED         /* .os_cpus */
};

/* Cores of one kind, of which a package has `count`. */
struct fixture_cores {
    unsigned count, threads;
    unsigned l1d_kib, l2_kib, l2_cores; /* l2_cores: how many cores share one */
    unsigned max_mhz;                   /* ranks the kinds; 0 = one kind, nothing to rank */
    bool atom, no_l3;
};

/* A node without CPUs of its own: HBM, the memory of a GPU, what a cgroup keeps CPUs from. */
struct fixture_memory {
    unsigned os_node, gib;
    int near;         /* a node with CPUs; -1 = near none */
    const char *kind; /* hwloc's subtype, or NULL */
};

struct fixture_gpu {
    const char *bdf; /* in PCI order */
    int node;        /* with CPUs; -1 = the firmware does not say */
};

struct fixture_machine {
    const char *name; /* of its golden file */
    const char *is;   /* what has these facts */
    const char *cpu, *gpu;
    unsigned packages;
    struct fixture_cores cores[3]; /* of each package, in their order */
    unsigned node_cores;       /* how many cores of a package a node has; 0 = one node for all */
    unsigned l3_cores, l3_mib; /* how many cores share an L3; 0 = there is none */
    enum fixture_numbering numbering;
    const unsigned *os_cpus;        /* NUMBER_LISTED: of each package, core and thread */
    unsigned node_gib;              /* memory of each node; 0 = not reported */
    const unsigned *nodes_gib;      /* or of each one */
    struct fixture_memory extra[8]; /* ends with gib 0 */
    const unsigned *distances;      /* a square of all nodes by number */
    unsigned far, near;       /* or: to nodes of another package, and of the same one; 0 none */
    const char *allowed_cpus; /* NULL = all */
    const char *allowed_nodes;
    struct fixture_gpu gpus[17];
};

/* Ends with a machine without a name. */
extern const struct fixture_machine fixture_machines[];

/* NULL: there is no such machine. */
const struct fixture_machine *fixture_machine(const char *name);

/* Its XML, in a new string. */
char *fixture_machine_xml(const struct fixture_machine *machine);

/* Writes that to a new file under /tmp, whose name replaces the X's: "...XXXXXX.xml". */
void fixture_machine_write(const struct fixture_machine *machine, char *path);

#endif
