/*
 * A view of live processes over some seconds: who ran, who waited in the run queue, on which CPUs,
 * under which limits. reader.h fills it, check.h judges it; by itself it knows no system, and tests
 * make one up.
 *
 * Times are differences, in seconds, between the mark and the last tick of the reader. Processes
 * refer to each other, to cgroups and to masks by index; -1 = none or unknown.
 */
#ifndef CONTEND_DOCTOR_VIEW_VIEW_H
#define CONTEND_DOCTOR_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"

/* comm has 15 characters and its end; escapes of a terminal in it are replaced. */
enum { VIEW_NAME_MAX = 16, VIEW_NODES_MAX = 64, VIEW_GPUS_MAX = 64, VIEW_FROM_MAX = 48 };

/* The reader's own, of a task: an open schedstat (stat without one), and counters at the mark. */
struct view_task_source {
    int fd; /* schedstat, kept open; 0 = none yet, -1 = cannot be had */
    uint64_t oncpu_ns, wait_ns;
    uint64_t oncpu_then_ns, wait_then_ns;
    uint64_t user_ticks, system_ticks;    /* when it was first looked at closely */
    uint64_t close_at_ns;                 /* when that was; 0 = not yet */
    uint64_t migrations, migrations_then; /* so far, 1 more; 0 = not read yet */
    bool seen;                            /* in this listing */
    int sample_fd;                        /* of samples.c; 0 = none, -1 = refused */
    void *sample_ring;
    uint64_t sampled_since_ns; /* oncpu_ns when that began */
};

struct view_task {
    int tid;
    char name[VIEW_NAME_MAX];
    int mask;       /* in view.masks */
    double oncpu_s; /* on a CPU */
    double wait_s;  /* in the run queue; NaN where the kernel does not tell (schedstat) */
    bool close;     /* it was busy, and what follows was read */
    int cpu;        /* on which it was last */
    double user_s;  /* while it was close, by the clock tick */
    double system_s;
    double migrations;        /* from CPU to CPU; NaN = not read */
    char from[VIEW_FROM_MAX]; /* the end of the path of whose code it began in; "" = not known */
    struct view_task_source at;
};

/* Libraries that matter, as mapped. */
enum view_library {
    LIBRARY_GOMP = 1 << 0,
    LIBRARY_IOMP = 1 << 1, /* libiomp5 of Intel, libomp of LLVM */
    LIBRARY_MKL = 1 << 2,
    LIBRARY_OPENBLAS = 1 << 3,
    LIBRARY_CUDA = 1 << 4, /* libcuda.so: the driver */
    LIBRARY_NCCL = 1 << 5,
    LIBRARY_TORCH = 1 << 6,
    LIBRARY_TEAM = LIBRARY_GOMP | LIBRARY_IOMP | LIBRARY_MKL | LIBRARY_OPENBLAS
};

enum { VIEW_RUNTIMES_MAX = 4, VIEW_PATH_MAX = 128 };

/* Read once for a process, since it is long. */
struct view_about {
    bool maps_known, pages_known;
    unsigned libraries; /* enum view_library */
    unsigned nruntimes; /* different files that are OpenMP runtimes */
    char runtimes[VIEW_RUNTIMES_MAX][VIEW_PATH_MAX];
    uint64_t node_bytes[VIEW_NODES_MAX]; /* of its memory on each os_node */
    struct bitset mems; /* os_nodes that it may take memory from; empty = unknown */
};

struct view_process_source {
    int dir_fd, stat_fd; /* 0 = none, -1 = cannot be had */
    uint64_t ticks, then_ticks;
    uint64_t read_ticks; /* all of them, when its tasks were read last */
    bool lost_task;      /* one could not be read then: it has ended */
    bool seen;
};

enum { CGROUP_CPU, CGROUP_CPUSET, CGROUP_MEMORY, CGROUP_KINDS };

struct view_process {
    int pid, parent;
    uint64_t start_ticks; /* since boot: with the pid, it is this process and no later one */
    unsigned uid;
    char name[VIEW_NAME_MAX];
    char state;
    bool kernel;   /* a thread of the kernel */
    bool realtime; /* its first thread goes before all that are not of real time, nice or not */
    bool nicest;   /* and that one goes behind all others already: nice 19, SCHED_IDLE */
    bool watched;  /* its tasks and the rest below are read, and findings are about it */
    unsigned threads;
    int cpu;         /* on which its first thread was last */
    int mask;        /* of its first thread; of watched ones, and of others that ran */
    int parent_mask; /* of its parent's first thread; of watched ones */
    double cpu_s;    /* of all threads, those that ended too; by the clock tick */
    size_t ntasks, capacity;
    struct view_task *tasks;  /* owned; of watched ones */
    int cgroup[CGROUP_KINDS]; /* in view.cgroups: with version 2 all the same */
    struct view_about *about; /* owned; NULL = not read */
    uint64_t gpus;            /* bit i: it uses view.gpus[i], with more than a stray context */
    uint64_t gpu_bytes;       /* that it has on the one where it has most; 0 = unknown */
    bool gpu_device;          /* it has a device of NVIDIA's driver open; of watched ones */
    char *command;            /* owned: its arguments with a 0 behind each; of watched ones and */
    size_t command_size;      /* those above them, as are */
    char *settings;          /* owned: NAME=VALUE with a 0 behind each, of the names that matter, */
    size_t settings_size;    /* as it was started with: what it set itself does not show */
    bool environ_refused;    /* they are not ours to read */
    unsigned samples, spins; /* looks at its busy tasks, and those that found it waiting on its
                                CPU: in an OpenMP runtime, at an instruction to pause, or in a call
                                to yield or to sleep and wake */
    unsigned calls;          /* of spins, those in a call */
    unsigned unseen;         /* looks that its CPU time had room for, and that were not taken: the
                                kernel was at work, or switched from one thread to the next */
    struct view_process_source at;
};

/* A folder of a hierarchy of cgroups. Its limits hold for all below it. */
struct view_cgroup {
    char path[256]; /* as the system names it, from "/sys/fs/cgroup" on */
    int parent;
    bool v2;
    double quota_cpus;                 /* NaN = none */
    double periods, throttled_periods; /* NaN = not told */
    double throttled_s; /* summed over the CPUs that it was stopped on; NaN = not told */
    struct bitset cpus; /* cpuset, effective; empty = not told */
    int stat_fd;        /* the reader's, as is what follows; 0 = none yet, -1 = cannot */
    double periods_then, throttled_periods_then, throttled_then_s;
};

/* The times of one CPU; the sum is the time that passed, by the clock tick. */
struct view_cpu {
    unsigned os_cpu;
    double user_s, nice_s, system_s, idle_s, irq_s, steal_s;
    double then[6]; /* the reader's: the same at the mark */
};

struct view_gpu {
    char pci_bdf[PCI_BDF_MAX];
    char name[64];
    struct bitset cpus; /* near it; empty = unknown */
};

enum { VIEW_HIDDEN_MAX = 16 };

/* The processes that /proc hides from the reader: hidepid of proc(5). */
struct view_hidden {
    bool any;                  /* processes of others are left out of the view */
    char how[16];              /* "invisible"; "" = the mount does not tell */
    char group[64];            /* whose members would see them: "adm (4)"; "" = root alone */
    unsigned npids;            /* asked for, and there, but not shown */
    int pids[VIEW_HIDDEN_MAX]; /* the first of them */
};

struct host;

struct view {
    double wall_s;
    double now_s;       /* when the last tick was, of the monotonic clock */
    bool has_schedstat; /* the kernel tells how long a task waits */
    bool is_root;
    unsigned uid;              /* who looks */
    unsigned pages_skipped;    /* processes too large to list their pages */
    unsigned environs_refused; /* watched processes whose environment and maps are not ours to read
                                */
    struct view_hidden hidden;
    double pressure_share; /* PSI: share of the time that some task waited for a CPU; NaN */
    double load;           /* runnable tasks, averaged over a minute; NaN */
    size_t nmasks, masks_capacity;
    struct bitset *masks; /* each once */
    struct bitset online;
    size_t ncpus;
    struct view_cpu *cpus; /* sorted by os_cpu */
    size_t nprocesses, capacity;
    struct view_process *processes; /* sorted by pid */
    size_t ncgroups, cgroups_capacity;
    struct view_cgroup *cgroups;
    size_t ngpus;
    struct view_gpu gpus[VIEW_GPUS_MAX];
    size_t nnodes;
    struct bitset node_cpus[VIEW_NODES_MAX]; /* by os_node; nnodes = the largest + 1 */
    const struct host *host; /* borrowed: the machine beside them (host.h); NULL = not looked at */
    double own_s;            /* CPU time that the reader took since the mark */
};

void view_free(struct view *view);

/* Index in masks of an equal one, which is added if there is none; -1 without memory. */
int view_mask(struct view *view, const struct bitset *mask);

/* The next watched one from *at on, which is set behind it; NULL: there is none. */
const struct view_process *view_next_watched(const struct view *view, size_t *at);

/* NULL where that pid is not there. */
struct view_process *view_find(const struct view *view, int pid);

/* Sums over its tasks. wait: NaN where unknown. */
double view_oncpu_s(const struct view_process *process);
double view_wait_s(const struct view_process *process);

/*
 * CPU time of what is not in the view: of hidden processes, of those outside of a container, and of
 * those that ended. By the clock tick.
 */
double view_unseen_s(const struct view *view);

/* CPU time that a task, or several, had or waited for, where it is known how long they waited. */
double view_wanted_s(double oncpu_s, double wait_s);

/* Adds the CPUs that its busy tasks may use, or those of its first thread where none was busy. */
void view_add_cpus(const struct view *view, const struct view_process *process,
                   struct bitset *cpus);

/* Times that these CPUs were busy (steal not counted), idle and stolen. */
double view_busy_s(const struct view *view, const struct bitset *cpus);
double view_idle_s(const struct view *view, const struct bitset *cpus);
double view_steal_s(const struct view *view, const struct bitset *cpus);

/*
 * The CPUs that its cgroup lets it have, else all that are online: what a mask could be widened to.
 */
void view_allowed_cpus(const struct view *view, const struct view_process *process,
                       struct bitset *cpus);

/* Its cgroup of that kind is this one of view.cgroups, or below it. */
bool view_is_in(const struct view *view, const struct view_process *process, int kind,
                size_t cgroup);

/* CPUs that the tightest quota from its cgroup to the root grants; NaN = none. *at: that cgroup. */
double view_quota(const struct view *view, const struct view_process *process, int *at);

/*
 * The share of the periods in which it ran that its quota cut short: in these it had all that it
 * may have. NaN = unknown; 0 where it did not run.
 */
double view_throttled_share(const struct view_cgroup *cgroup);

/* The most of those of its cgroups that have a quota; NaN = not told, or there is none. */
double view_most_throttled(const struct view *view, const struct view_process *process);

/* A quota stops it: what it waits then no other CPU takes away. */
bool view_is_throttled(const struct view *view, const struct view_process *process);

/* Value of NAME among its settings, or NULL. */
const char *view_setting(const struct view_process *process, const char *name);

/*
 * The busy process above it whose helper it is, itself where there is none: the topmost of a chain
 * of parents each of which was busy. Launchers that only wait are nobody's lead.
 */
const struct view_process *view_lead(const struct view *view, const struct view_process *process);

/*
 * Share of its time on CPUs in which its threads waited there; NaN = not known. Where we may not
 * look at the kernel's time, it is taken for that if its threads yield, or spin and then sleep.
 */
double view_spin_share(const struct view_process *process);

/* The number of voluntary and other switches in the text of a status file; false: it has none. */
bool view_read_switches(const char *status, uint64_t *switches);

/* It is watched, and had at least this share of one CPU, waiting counted. */
bool view_is_busy(const struct view *view, const struct view_process *process);

/*
 * Variables that choose a GPU, a rank, or where the ranks meet; NULL ends them. A line that is
 * typed carries those that it was started with: without them all workers of a job would be the same
 * one. The first is of use to a container's runtime alone.
 */
extern const char *const view_carried[];

#endif
