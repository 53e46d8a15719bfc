/*
 * A process and all that it has started, however deep, as /proc tells: what they used, where they
 * ran, to which CPUs they are bound. The one who looks is their ancestor and takes in those whose
 * parent has ended (process_adopt), so that none gets out of sight.
 *
 * The use of a process counts after its end, too, as the kernel keeps it for its waiter. Its wait
 * for a CPU does not: it is known up to the last look before a thread's end, and then made larger
 * by as much as the CPU time of that look was short of what the kernel counted.
 */
#ifndef CONTEND_LIB_SYS_TREE_H
#define CONTEND_LIB_SYS_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/lib/base/bitset.h"

enum {
    TREE_THREADS = 2048,
    TREE_PROCESSES = 512,
    TREE_MASKS = 8,
    TREE_MASK_LASTS_MS = 200,
    TREE_NAME_MAX = 16
};

struct tree_process {
    pid_t pid, parent;
    uint64_t started; /* clock ticks since boot: with pid, the same process and no other */
    bool ended;       /* nobody has waited for it yet */
};

/*
 * Those below `root`, without it, parents first; at most `most`. Returns how many. Processes that
 * begin or end meanwhile may be missing.
 */
unsigned tree_list(pid_t root, struct tree_process *out, unsigned most);

/* Whether it is there, and no other of its number. */
bool tree_is_same(const struct tree_process *process);

/* Zeroed = nothing. Means over the busy threads of a run are sums over runs. */
struct tree_used {
    double oncpu_s, runqueue_s; /* of a thread of the team, on average */
    double cpu_s;               /* of all of them */
    double voluntary_switches, involuntary_switches, minor_faults, major_faults;
    unsigned team;     /* threads that were busy at the same time, the most that were seen */
    bool no_schedstat; /* runqueue_s is not known */
};

/* A thread whose mask is not the one that was planned. */
struct tree_mask {
    char name[TREE_NAME_MAX];
    int tid;
    struct bitset cpus;
    bool beyond; /* CPUs among them that were not planned */
    bool lasts;  /* for TREE_MASK_LASTS_MS: libraries bind a thread for moments, too */
    uint64_t since_ns, seen_ns; /* looks from the one to the other saw it */
};

struct tree_thread {
    int pid, tid;
    uint64_t started;
    uint64_t oncpu_ns, runqueue_ns; /* as of the last look that saw it */
    uint64_t counted_ns;            /* of both, when the team was last counted */
};

/* Plain data, for shared memory: the one who looks writes, others may read `used` and `mask`. */
struct tree {
    struct bitset planned;
    struct tree_used used; /* up to the last look */
    uint32_t nmasks;
    struct tree_mask mask[TREE_MASKS];

    struct tree_used before; /* of the runs that have ended */
    double cpu_s_before;     /* by the kernel's count, when the run began */
    uint64_t counted_ns;     /* when the team was last counted */
    uint64_t looked_ns;      /* the look before */
    unsigned team;
    uint32_t nthreads;
    struct tree_thread thread[TREE_THREADS];
};

/* A thread as a look finds it. */
typedef void tree_seen(void *arg, int tid, unsigned os_cpu, uint64_t at_ns);

/* A run begins: nothing of it has started yet. */
void tree_begin(struct tree *tree, const struct bitset *planned);

/* Looks at those below this process; `seen` is called for each thread that ran since the last. */
void tree_look(struct tree *tree, tree_seen *seen, void *arg);

/* The run has ended, and all of it was waited for. */
void tree_end(struct tree *tree);

/* CPU time of process `pid` and of those below it, ended ones included, as far as one may see. */
double tree_cpu_s(pid_t pid);

#endif
