/*
 * A view of live processes over some seconds: which ran, which waited in the run queue, on which
 * CPUs, under which limits. reader.h fills it, check.h judges it. A view itself accesses no system;
 * tests build their own.
 *
 * Times are differences, in seconds, between the reader's mark and its last tick. Processes refer
 * to each other, to cgroups and to masks by index; -1 = none or unknown.
 */
#ifndef CONTEND_DOCTOR_READER_VIEW_H
#define CONTEND_DOCTOR_READER_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/cgroup.h"

/* comm has 15 characters and a 0; terminal escapes in it are replaced. */
enum { VIEW_NAME_MAX = 16, VIEW_NODES_MAX = 64, VIEW_GPUS_MAX = 64, VIEW_FROM_MAX = 48 };

/* Reader state of a task: an open schedstat (else stat), and counters at the mark (_then). */
struct view_task_source {
    int fd; /* schedstat, kept open; 0 = not opened yet, -1 = unavailable */
    uint64_t oncpu_ns, wait_ns, turns;
    uint64_t oncpu_then_ns, wait_then_ns, turns_then;
    double user_s, system_s;              /* at its first detailed read */
    uint64_t detailed_at_ns;              /* time of that read; 0 = none yet */
    uint64_t migrations, migrations_then; /* count + 1; 0 = not read yet */
    bool is_listed;                       /* found in the current listing */
    int sample_fd;                        /* for samples.c; 0 = none, -1 = refused */
    void *sample_ring;
    uint64_t sampled_since_ns; /* oncpu_ns when sampling began */
};

struct view_task {
    int tid;
    char name[VIEW_NAME_MAX];
    int mask;                   /* index in view.masks */
    int mask_then;              /* at the last tick that read it; -1 = it is new */
    double since_s;             /* view.now_s of the tick that saw this mask first */
    bool outside, outside_then; /* of a plan (check.h), at this look and the last */
    double oncpu_s;             /* time on a CPU */
    double wait_s;              /* time in the run queue; NaN if the kernel has no schedstat */
    double turns;               /* how often it got a CPU; NaN without schedstat */
    bool is_detailed;           /* it was busy, so the fields below were read */
    int cpu;                    /* last CPU */
    double user_s;              /* since its first detailed read; clock-tick resolution */
    double system_s;
    double migrations;        /* between CPUs; NaN = not read */
    char from[VIEW_FROM_MAX]; /* end of the path of the code that it began in; "" = unknown */
    unsigned libraries;       /* enum view_library: with 1% of its samples or more */
    struct view_task_source source;
};

/* Libraries that checks know, by their mappings. */
enum view_library {
    LIBRARY_GOMP = 1 << 0,
    LIBRARY_IOMP = 1 << 1, /* Intel's libiomp5, LLVM's libomp */
    LIBRARY_MKL = 1 << 2,
    LIBRARY_OPENBLAS = 1 << 3,
    LIBRARY_CUDA = 1 << 4, /* libcuda.so: the driver */
    LIBRARY_NCCL = 1 << 5,
    LIBRARY_TORCH = 1 << 6,
    LIBRARY_MPI = 1 << 7, /* of any kind; its ranks poll while they wait */
    LIBRARY_OPEN_MPI = 1 << 8,
    LIBRARY_TEAM = LIBRARY_GOMP | LIBRARY_IOMP | LIBRARY_MKL | LIBRARY_OPENBLAS
};

enum { VIEW_RUNTIMES_MAX = 4, VIEW_PATH_MAX = 128 };

/* Read once per process, as reading takes long. */
struct view_about {
    bool maps_known, pages_known;
    unsigned libraries; /* enum view_library */
    unsigned go_minor;  /* its program was built by Go 1.go_minor, 1 if that is unknown; 0 = none */
    unsigned nruntimes; /* number of different OpenMP runtime files */
    char runtimes[VIEW_RUNTIMES_MAX][VIEW_PATH_MAX];
    uint64_t node_bytes[VIEW_NODES_MAX]; /* its memory on each os_node */
    struct bitset mems;                  /* os_nodes that it may allocate on; empty = unknown */
    uint64_t python_start, python_end;   /* program or library of Python, and its data; 0 = none */
};

struct view_process_source {
    int dir_fd, stat_fd;   /* 0 = none, -1 = unavailable */
    double used_s, then_s; /* CPU time so far, and at the mark */
    double read_s;         /* value of `used_s` when its tasks were read last */
    double disk_then_bytes;
    bool lost_task;     /* a task could not be read then: it has ended */
    bool knows_weights; /* its cgroups and autogroup were read */
    bool is_listed;
};

enum { CGROUP_CPU, CGROUP_CPUSET, CGROUP_MEMORY, CGROUP_KINDS };

struct view_process {
    int pid, parent;
    uint64_t start_ticks; /* since boot; pid and start identify a process */
    unsigned uid;
    char name[VIEW_NAME_MAX];
    char state;
    bool kernel;   /* a kernel thread */
    bool realtime; /* its first thread has a real-time policy: runs before all normal threads */
    bool watched;  /* its tasks and details are read, and checks judge it */
    unsigned threads;
    double weight; /* of its first thread against others: 1024 at nice 0, 3 if SCHED_IDLE */
    int autogroup; /* of its session, for watched processes and others that ran; 0 = none */
    double autogroup_weight;
    int cpu;           /* last CPU of its first thread */
    int mask;          /* of its first thread; for watched processes, and others that ran */
    int parent_mask;   /* of its parent's first thread; for watched processes */
    double cpu_s;      /* of all threads, ended ones too; clock-tick resolution */
    double disk_bytes; /* read from and written to storage; for watched processes; NaN = unknown */
    unsigned turnover; /* threads that were seen to start or to end since the mark */
    size_t ntasks, capacity;
    struct view_task *tasks;  /* owned; for watched processes */
    int cgroup[CGROUP_KINDS]; /* index in view.cgroups; all the same with cgroup v2; known as */
                              /* autogroup is */
    struct view_about *about; /* owned; NULL = not read */
    uint64_t gpus;            /* bit i: it uses view.gpus[i]; a stray context does not count */
    uint64_t gpu_bytes;       /* memory on the GPU where it has most; 0 = unknown */
    bool gpu_device;          /* it has an NVIDIA device file open; for watched processes */
    char *command;            /* owned: arguments, each ends with a 0; for watched */
    size_t command_size;      /* processes and their ancestors */
    char *settings;           /* owned: NAME=VALUE, each ends with a 0; only names that */
    size_t settings_size;     /* checks use; as of its start, later changes do not show */
    bool environ_refused;     /* permission to read the environment was refused */
    /*
     * samples: of its busy tasks. spins: samples in a runtime of OpenMP or MPI, at a pause
     * instruction, or in a call that yields or sleeps. calls: spins in such a call.
     * missing_samples: samples missing for its CPU time, because the kernel was at work or switched
     * threads.
     */
    unsigned samples, spins;
    unsigned calls;
    unsigned missing_samples;
    struct view_process_source source;
};

/* A cgroup. Its limits also hold for all cgroups below it. */
struct view_cgroup {
    char path[256]; /* full path, begins with "/sys/fs/cgroup" */
    int parent;
    bool v2;
    double weight;     /* against the cgroups beside it: 1024 = default; NaN = root, or none */
    double quota_cpus; /* NaN = none */
    double periods, throttled_periods; /* NaN = unknown */
    double throttled_s;        /* summed over the CPUs where it was stopped; NaN = unknown */
    struct bitset cpus;        /* effective cpuset; empty = unknown */
    struct cgroup_counts then; /* reader state: the counters at the mark */
};

/* The times of one CPU, at clock-tick resolution; they add up to the elapsed time. */
struct view_cpu {
    unsigned os_cpu;
    double user_s, nice_s, system_s, idle_s, irq_s, steal_s;
    double then_s[PROC_TIMES]; /* reader state: the counters at the mark */
};

struct view_gpu {
    char pci_bdf[PCI_BDF_MAX];
    char name[64];
    struct bitset cpus; /* CPUs near it; empty = unknown */
};

enum { VIEW_HIDDEN_MAX = 16 };

/* Processes that /proc hides from the reader: hidepid of proc(5). */
struct view_hidden {
    bool any;                  /* other users' processes are missing in the view */
    char how[16];              /* such as "invisible"; "" = the mount does not tell */
    char group[64];            /* group that sees them, "adm (4)"; "" = only root */
    unsigned npids;            /* asked for and existing, but hidden */
    int pids[VIEW_HIDDEN_MAX]; /* the first of these */
};

/* A worker of a plan that a job is to keep: `contend doctor --plan`. */
struct view_plan_worker {
    unsigned number, threads;
    struct bitset cpus, nodes; /* no nodes = those of its CPUs */
    int pid;                   /* its process, with what that started */
    unsigned busy;             /* its threads that wanted a CPU half of the time */
    bool narrowed;             /* see check.h */
};

struct view_plan {
    const char *file;
    unsigned looks;
    double began_s; /* view.now_s of the first look */
    size_t n;
    struct view_plan_worker *workers; /* owned */
};

struct host;

struct view {
    double wall_s;
    double now_s;       /* time of the last tick, monotonic clock */
    bool has_schedstat; /* the kernel has schedstat: run-queue waits are known */
    bool is_root;
    unsigned uid;              /* effective user of contend */
    unsigned pages_skipped;    /* processes too large to list their pages */
    unsigned environs_refused; /* watched processes whose environment and maps are not readable */
    struct view_hidden hidden;
    double pressure_share; /* PSI: share of the time that a task waited for a CPU; NaN = unknown */
    double load;           /* load average of one minute; NaN = unknown */
    size_t nmasks, masks_capacity;
    struct bitset *masks; /* no duplicates */
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
    struct bitset memory_nodes;              /* os_nodes that have memory; empty = unknown */
    const struct host *host;      /* borrowed: state of the machine (host.h); NULL = not read */
    const struct view_plan *plan; /* borrowed; NULL = none to keep */
    double own_s;                 /* CPU time that the reader used since the mark */
};

void view_free(struct view *view);

/* Index in view->masks of an equal mask, added if missing; -1 = out of memory. */
int view_mask(struct view *view, const struct bitset *mask);

/* The next watched process from index *at on; *at moves past it. NULL = there is none. */
const struct view_process *view_next_watched(const struct view *view, size_t *at);

/* The process with this pid, or NULL. */
struct view_process *view_find(const struct view *view, int pid);

/* Sums over its tasks. view_wait_s: NaN = unknown. */
double view_oncpu_s(const struct view_process *process);
double view_wait_s(const struct view_process *process);

/*
 * CPU time that no process of the view explains: of hidden processes, of processes outside the
 * container, and of those that ended. Clock-tick resolution.
 */
double view_unattributed_s(const struct view *view);

/* Time that tasks ran or waited for a CPU; an unknown (NaN) wait counts as 0. */
double view_wanted_s(double oncpu_s, double wait_s);

/* Adds the CPUs that its busy tasks may use; those of its first thread if no task was busy. */
void view_add_cpus(const struct view *view, const struct view_process *process,
                   struct bitset *cpus);

/* Seconds that these CPUs were busy (without steal), idle and stolen. */
double view_busy_s(const struct view *view, const struct bitset *cpus);
double view_idle_s(const struct view *view, const struct bitset *cpus);
double view_steal_s(const struct view *view, const struct bitset *cpus);

/* The CPUs to which its mask could be widened: its cgroup's cpuset, else all online CPUs. */
void view_allowed_cpus(const struct view *view, const struct view_process *process,
                       struct bitset *cpus);

/* True if its cgroup of that kind is view.cgroups[cgroup] or below it. */
bool view_is_in(const struct view *view, const struct view_process *process, int kind,
                size_t cgroup);

/* CPUs granted by the tightest quota from its cgroup to the root; NaN = none. *at: that cgroup. */
double view_quota(const struct view *view, const struct view_process *process, int *at);

/*
 * The share of the periods in which the cgroup ran and used up its quota. NaN = unknown; 0 if it
 * did not run.
 */
double view_throttled_share(const struct view_cgroup *cgroup);

/* The largest such share of its cgroups with a quota; NaN = unknown, or there is no quota. */
double view_most_throttled(const struct view *view, const struct view_process *process);

/* True if a quota stops it in 10% of the periods: more CPUs would not reduce its wait then. */
bool view_is_throttled(const struct view *view, const struct view_process *process);

/* Value of NAME in its environment at its start, or NULL. */
const char *view_setting(const struct view_process *process, const char *name);

/*
 * Its lead: the topmost process of the chain of busy parents above it, or the process itself. A
 * launcher that only waits is no lead.
 */
const struct view_process *view_lead(const struct view *view, const struct view_process *process);

/*
 * Share of its CPU time that its threads spent spinning; NaN = unknown: below 50 samples, or 20 if
 * none of them spins (a share of 15% would show none in 4% of the cases). Missing samples of kernel
 * time count as spinning if its threads yield, or spin and then sleep.
 */
double view_spin_share(const struct view_process *process);

/* True if it is watched, ran at all (1%), and wanted at least 20% of a CPU, waits included. */
bool view_is_busy(const struct view *view, const struct view_process *process);

/*
 * Variables that choose a GPU, a rank or a rendezvous address; ends with NULL. A command line to
 * type must carry their values: without them all workers of a job would be the same one. The first
 * variable only matters to container runtimes.
 */
extern const char *const view_carried[];

#endif
