/*
 * Machines as tables of facts, for tests that need more than hwloc's synthetic descriptions: GPUs,
 * distances, kinds of cores, irregular numbers. Each stands for a class of servers, not for a
 * particular one. Written as the XML of hwloc 2.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_MACHINES_H
#define CONTEND_TESTS_LIB_FIXTURE_MACHINES_H

#include <stdbool.h>

enum fixture_numbering {
    NUMBER_SIBLINGS_LAST, /* first thread of every core, then the second threads: most servers */
    NUMBER_SIBLINGS_NEXT, /* the threads of a core are neighbours: desktops, Arm, POWER */
    NUMBER_PACKAGES_TURN, /* packages alternate: 0 in package 0, 1 in package 1; siblings last */
    NUMBER_LISTED         /* .os_cpus */
};

/* `count` cores of one kind in each package. */
struct fixture_cores {
    unsigned count, threads;
    unsigned l1d_kib, l2_kib, l2_cores; /* l2_cores: number of cores that share an L2 */
    unsigned max_mhz;                   /* ranks the kinds; 0 = one kind, no ranking */
    bool atom, no_l3;
    unsigned capacity; /* ranks them instead, as on Arm; 0 = not reported */
};

/* A node without CPUs: HBM, the memory of a GPU, or a node whose CPUs the cgroup forbids. */
struct fixture_memory {
    unsigned os_node, gib;
    int near;         /* the nearest node with CPUs; -1 = none */
    const char *kind; /* hwloc's subtype, or NULL */
};

struct fixture_gpu {
    const char *bdf; /* in PCI order */
    int node;        /* a node with CPUs; -1 = the firmware does not say */
};

struct fixture_machine {
    const char *name; /* also of its golden file */
    const char *is;   /* what kind of machine has these facts */
    const char *cpu, *gpu;
    unsigned packages;
    struct fixture_cores cores[5]; /* kinds of cores in each package, in this order */
    unsigned node_cores; /* cores of a package that form one node; 0 = one node for the machine */
    unsigned l3_cores, l3_mib; /* number of cores that share an L3; 0 = no L3 */
    enum fixture_numbering numbering;
    const unsigned *os_cpus;        /* NUMBER_LISTED: by package, core and thread */
    unsigned node_gib;              /* memory of every node; 0 = not reported */
    const unsigned *nodes_gib;      /* or of each node */
    bool lists_no_empty_node;       /* nodes without memory are known by their CPUs alone */
    struct fixture_memory extra[8]; /* ends with an entry of gib 0 */
    const unsigned *distances;      /* matrix of all nodes, by number */
    unsigned far, near; /* or: to nodes of another package, of the same package; 0 = no distances */
    const char *allowed_cpus; /* NULL = all */
    const char *allowed_nodes;
    struct fixture_gpu gpus[17];
};

/* The last element has no name. */
extern const struct fixture_machine fixture_machines[];

/* NULL if there is no such machine. */
const struct fixture_machine *fixture_machine(const char *name);

/* The machine's XML in a new string. */
char *fixture_machine_xml(const struct fixture_machine *machine);

/* Writes the XML to a new file under /tmp. `path` is a template "...XXXXXX.xml"; the new name
 * replaces the X's. */
void fixture_machine_write(const struct fixture_machine *machine, char *path);

#endif
