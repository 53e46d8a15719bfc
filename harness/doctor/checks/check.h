/*
 * Judges a view: a table of checks, each of which looks for one thing that costs time. Pure.
 *
 *   struct diagnosis diagnosis = {0};
 *   int rc = diagnosis_make(&view, &diagnosis, &err);
 *   diagnosis_findings(&diagnosis, &findings);   // for the printers
 *   diagnosis_free(&diagnosis);
 *
 * A new check is a function and a line in CHECK_LIST. It looks at checker->view and calls
 * checker_report for each thing it finds. It needs evidence of a loss (waited, throttled, refused):
 * the merely unusual is not a finding, so that a healthy machine has none.
 */
#ifndef CONTEND_DOCTOR_CHECKS_CHECK_H
#define CONTEND_DOCTOR_CHECKS_CHECK_H

#include <stddef.h>

#include "harness/doctor/reader/view.h"
#include "harness/lib/finding.h"

/* What findings change at the next start of a job: environment variables, an argument. Pure. */
enum { ENV_CHANGES_MOST = 16, ENV_CHANGE_MAX = 64 };

/* Zeroed = empty. Names are ours and values are numbers: safe in a shell without quotes. */
struct env_changes {
    unsigned n;
    char settings[ENV_CHANGES_MOST][ENV_CHANGE_MAX]; /* "NAME=VALUE"; "NAME" alone means unset */
    char argument[ENV_CHANGE_MAX]; /* "-XX:NAME=VALUE", in place of another value; "" = none */
};

void env_changes_set(struct env_changes *changes, const char *name, unsigned value);
/* The same for a variable that holds an option, such as "-XX:ActiveProcessorCount=". */
void env_changes_set_option(struct env_changes *changes, const char *name, const char *option,
                            unsigned value);
void env_changes_unset(struct env_changes *changes, const char *name);

/* Adds the settings of `more` whose names are not in `changes` yet: the first one wins. */
void env_changes_join(struct env_changes *changes, const struct env_changes *more);

/* "export OMP_NUM_THREADS=8 && unset OMP_PROC_BIND", "" if empty. */
const char *env_changes_format(const struct env_changes *changes);

struct checker;

struct check {
    unsigned number;
    const char *id, *finds, *reads; /* see CHECK_LIST; finds NULL ends the table */
    void (*run)(struct checker *checker);
};
extern const struct check checks[];

enum { FOUND_PIDS_MAX = 64, COMMAND_MAX = sizeof(((struct finding *)0)->command) };

/* The speed-up that a command brings to the processes it names. */
struct check_gain {
    double times;         /* NaN = unknown; 0 = a speed-up does not apply */
    const char *at_least; /* why the speed-up may be larger; NULL = it is an estimate */
    double most;          /* end of the interval that begins with `times`; 0 = none */
};

/* What cures a finding. From CURE_RESTART on, binding the running processes does not help them. */
enum cure {
    CURE_BY_HAND, /* its command, if it has one, for who reads it */
    CURE_BIND,    /* other CPUs for running processes: `binds` */
    CURE_SETTING, /* a setting at the next start, for another loss than that of CPU time */
    CURE_RESTART, /* fewer threads at the next start */
    CURE_FEWER,   /* fewer processes */
    CURE_ADMIN    /* more CPU time, from whoever limits it */
};

/* One `taskset -acp CPUS PID` of a command; `tid`: `taskset -cp CPUS TID`, that thread alone. */
struct check_bind {
    int pid, tid; /* tid 0 = all threads */
    struct bitset cpus;
};

/* Zeroed = empty. */
struct check_binds {
    size_t n, capacity;
    struct check_bind *all; /* owned */
};

struct found {
    const struct check *check;
    enum cure cure;
    struct check_binds binds; /* what the command binds, if the cure is CURE_BIND */
    double cost; /* share of the named processes' time that is lost, 0 to 1; NaN = unknown */
    struct check_gain gain;
    unsigned npids;
    int pids[FOUND_PIDS_MAX];
    struct env_changes
        env_changes; /* settings for the next start; the command may contain them too */
    struct finding finding;
};

/* Sorted by severity, then by cost; unknown costs come last. Zeroed = empty. */
struct diagnosis {
    size_t n, capacity;
    struct found *all; /* owned */
};

/* With view.plan, only that check. -ENOMEM only. Free with diagnosis_free, also after an error. */
int diagnosis_make(const struct view *view, struct diagnosis *diagnosis, struct err *err);
void diagnosis_free(struct diagnosis *diagnosis);
void diagnosis_findings(const struct diagnosis *diagnosis, struct findings *findings);
/* The settings for the next start from all findings; the first finding wins a conflict. */
struct env_changes diagnosis_env_changes(const struct diagnosis *diagnosis);
/* True if a finding is bad. */
bool diagnosis_is_bad(const struct diagnosis *diagnosis);

/*
 * Processes that work together: a busy process (the lead) and its busy descendants, such as a
 * worker and its data loaders. Messages call the group a worker.
 */
struct check_group {
    const struct view_process *lead;
    unsigned nprocesses;
    double oncpu_s, wait_s;
    unsigned nrunnable; /* tasks that wanted a CPU at least half of the time */
    struct bitset cpus; /* CPUs that its busy tasks may use */
};

struct checker {
    const struct view *view;
    struct diagnosis *diagnosis;
    const struct check *check;
    size_t ngroups;
    struct check_group *groups;
    int *group_of;            /* group of each process of the view, -1 = none */
    bool *has_cause;          /* per group: a finding explains why it waits */
    struct bitset cpus_given; /* CPUs that earlier commands hand out, see cpu_allocator.h */
    struct check_binds binds; /* of the command that check_bind wrote last */
    struct err *err;
    int rc;
};

/* Makes the groups of a view. -ENOMEM only. Free with checker_close, also after an error. */
int checker_open(const struct view *view, struct checker *checker, struct err *err);
void checker_close(struct checker *checker);

/* Writes why a group waits in the run queue: "itself", "4711 nvtop", "its quota". */
const char *check_format_cause(const struct checker *checker, size_t group);

/* Enough for what a tail tells of a few processes. */
enum { FOOTNOTE_MAX = 400 };

/* The parts of a finding other than its sentence. */
struct finding_parts {
    enum finding_severity severity;
    enum cure cure;
    double cost;
    struct check_gain gain; /* printed after the sentence */
    const char *tail;       /* printed after the gain, begins with a blank; NULL = nothing */
    const struct view_process *const *who; /* processes named as its subject */
    size_t nwho;
    const char *id;      /* overrides the id of the check; NULL = the check's */
    const char *subject; /* overrides `who`, for what is not a process */
    const char *evidence, *command;
    const struct env_changes *env_changes; /* NULL = none */
};
/* A bad finding about these processes, with that cost. */
struct finding_parts finding_parts_bad(double cost, const struct view_process *const *who,
                                       size_t nwho, const char *evidence, const char *command);
/* The same, cured by `command`, which check_bind wrote. */
struct finding_parts finding_parts_bind(double cost, const struct view_process *const *who,
                                        size_t nwho, const char *evidence, const char *command);
void checker_report(struct checker *checker, const struct finding_parts *parts, const char *fmt,
                    ...) __attribute__((format(printf, 3, 4)));

/* Appends to `text` if it fits in `size`; else leaves it as it was and returns false. */
bool check_append(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Waiting as a share of waiting and running; 0 if there was neither. */
double check_wait_share(double oncpu_s, double wait_s);

/* True if the wait is worth a report: at least 10% of the wanted time, and 0.1 CPUs. */
bool check_waits(const struct view *view, double oncpu_s, double wait_s);

/* "sudo " if the process belongs to another user and we are not root, else "". */
const char *check_sudo(const struct view *view, const struct view_process *process);

/*
 * True if a command may touch a process outside the job: it belongs to the user of contend, or that
 * user is root. Appends the owner to `footnote` if it is another user.
 */
bool check_may_touch(const struct view *view, const struct view_process *process, char *footnote,
                     size_t size);

/* "sudo " for what only root may do; "" for root, as containers may lack sudo. */
const char *check_root(const struct view *view);

/*
 * Appends "taskset -acp CPUS PID" to `command`, with sudo if needed. `tid`: bind only that thread;
 * 0 = all threads. Nothing if they have that mask already. False: it does not fit.
 */
bool check_append_bind(const struct view *view, const struct view_process *process, int tid,
                       const struct bitset *cpus, char *command, size_t size);

/*
 * The same for a process of the job, which --apply may bind: also notes it, even if it does
 * not fit, in checker->binds, which begin with an empty `command`.
 */
bool check_bind(struct checker *checker, const struct view_process *process, int tid,
                const struct bitset *cpus, char *command, size_t size);

/* The same for all processes of the group. */
bool check_append_taskset(struct checker *checker, size_t group, const struct bitset *cpus,
                          char *command, size_t size);

/*
 * Marks in `in` (one per group) `first` and all groups that share CPUs with it, directly or through
 * other groups. Returns their number.
 */
size_t check_find_overlapping(const struct checker *checker, size_t first, bool *in);

/* The variable by which the user asked its OpenMP runtime to bind its threads; NULL = none. */
const char *check_binding_setting(const struct view_process *process);

/* True if threads of one of these groups wait for each other on CPUs (check_runtime.h). */
bool check_teams_wait(const struct checker *checker, const bool *in);

/*
 * The CPUs that these groups could get: CPUs that all of them may use, near what they use, minus
 * those that other busy groups use or that are given. Returns the number of CPUs that all of them
 * may use.
 */
unsigned check_find_pool(const struct checker *checker, const bool *in, struct bitset *pool);

/* CPUs that all of them may use, near what they use, of no group, not given, and idle. */
void check_find_idle(const struct checker *checker, const bool *in, struct bitset *idle);

/*
 * Gives each marked group a slice of the pool: slices[i] belongs to group groups[i]. Returns the
 * number of slices, 0 = not possible. Both arrays have room for ALLOCATE_MOST.
 */
size_t check_allocate(struct checker *checker, const bool *in, const struct bitset *pool,
                      size_t *groups, struct bitset *slices);
/* Writes the slices as a command; false: there are none, or it does not fit. */
bool check_write_slices(struct checker *checker, const size_t *groups, size_t n,
                        const struct bitset *slices, char *command, size_t size);

/* Writes "about 2.0x", "at least 2.0x" or "1.2x to 2.0x". */
const char *check_format_gain(const struct check_gain *gain);

/*
 * The gain of groups that ran for oncpu_s if they get `more_s` in addition. A team whose threads
 * wait for each other gains more, because its spinning is lost now; how much more is unknown.
 */
struct check_gain check_gain_of_more(double oncpu_s, double more_s, bool is_team_waiting);

/* The gain if the waiting time ran on the idle time of these CPUs. Unknown (NaN) if wait_s is NaN
 * or the gain is below 1.1: which other thread would give way is unknown then. */
struct check_gain check_gain_of_idle(const struct view *view, const struct bitset *cpus,
                                     double oncpu_s, double wait_s, bool is_team_waiting);

/* Estimate of the speed-up if threads stop spinning, which takes `share` of their CPU time. */
double check_times_of_spin(double share);

/* Threads that spin, as they are, and as they will be. CPUs are means over the look. */
struct check_spin {
    double share; /* of their CPU time; NaN = unknown */
    unsigned samples;
    double ran, wanted;  /* CPUs that they used, and wanted */
    double threads;      /* after the fix; 0 = it leaves them the same CPU time, as a quota does */
    double room, others; /* CPUs that they may use, and how many of them other processes used */
};
/* The least gain of fewer threads beside the present others. Unknown (NaN) below 1.1. */
struct check_gain check_gain_of_fewer(const struct check_spin *spin);

/*
 * The checks, a line each: X(number, id of its findings, what it finds in a few words, the files or
 * interfaces that it reads, its function).
 */
/* clang-format off */
#define CHECK_LIST(X)                                                                           \
    X(31, "mask_escape", "threads that leave the mask of their process",                        \
      "masks of tasks, environ, schedstat", check_escape)                                       \
    X(16, "more_threads_than_cpus", "more threads than CPUs, at a loss",                        \
      "schedstat, masks, samples of threads, stacks, environ", check_crowd)                     \
    X(29, "ranks_poll", "more ranks than CPUs, which poll for each other",                      \
      "schedstat, masks, samples of threads, arguments, environ, maps", check_ranks)            \
    X(6, "inherited_mask", "an inherited mask of one CPU", "masks of child and parent, cpuset", \
      check_inherited_mask)                                                                     \
    X(28, "narrowed_children", "children bound to fewer CPUs than their parent",                \
      "masks of child and parent, schedstat", check_narrowed_children)                          \
    X(27, "narrow_mask", "a mask with fewer CPUs than threads, while other CPUs idle",          \
      "schedstat, masks, time of each CPU", check_narrow)                                       \
    X(1, "masks_overlap", "busy processes on the same CPUs", "masks and times of tasks",        \
      check_overlap)                                                                            \
    X(2, "team_over_quota", "a team of threads larger than the quota of CPU time",              \
      "cpu.max of all cgroups above, times and libraries of the process",                       \
      check_team_over_quota)                                                                    \
    X(3, "throttled", "stopped by a quota of CPU time", "cpu.stat", check_throttled)            \
    X(5, "idle_beside_queue", "waiting while allowed CPUs are idle",                            \
      "schedstat, masks, time of each CPU", check_idle_cpus)                                    \
    X(4, "run_queue", "waiting in the run queue, and the cause",                                \
      "schedstat, time of each CPU, cpu.stat, steal", check_queue)                              \
    X(7, "leader_alone", "the first thread is bound, the others are not", "masks of tasks",     \
      check_leader_alone)                                                                       \
    X(8, "far_from_gpu", "far from the GPU that it uses", "NVML, local_cpulist, masks",         \
      check_far_from_gpu)                                                                       \
    X(9, "shut_out_of_gpu", "no CPU near its GPU is allowed", "NVML, local_cpulist, cpuset",    \
      check_shut_out_of_gpu)                                                                    \
    X(10, "far_pages", "memory on another node than the threads",                               \
      "numa_maps, masks, cpuset.mems", check_far_pages)                                         \
    X(11, "numa_balancing", "NUMA balancing is active", "/proc/vmstat", check_numa_balancing)   \
    X(15, "thermal_throttling", "CPUs that slow down for heat", "thermal_throttle",             \
      check_throttling)                                                                         \
    X(15, "clock_governor", "clocks below the base clock", "cpufreq", check_governor)           \
    X(17, "openmp_settings",                                                                    \
      "settings of OpenMP that contradict each other, two OpenMP runtimes", "environ, maps",    \
      check_openmp_settings)                                                                    \
    X(18, "spin_wait", "spinning for a GPU on crowded CPUs", "user time, maps, schedstat",      \
      check_spin_wait)                                                                          \
    X(19, "debugging", "debugging settings left on", "environ, maps", check_debugging)          \
    X(22, "memory_pressure", "short of memory", "memory.stat, memory.events, PSI",              \
      check_memory)                                                                             \
    X(32, "storage", "waiting for storage", "io of processes, PSI, /proc/vmstat", check_storage) \
    X(23, "shared_cores", "workers on one core while cores are free", "topology, masks",        \
      check_siblings)                                                                           \
    X(24, "gpu", "GPUs that are held back or unwell", "NVML, kernel log", check_gpus)           \
    X(33, "interpreter_lock", "threads that wait for the lock of Python's interpreter",          \
      "syscall of threads, maps", check_interpreter)                                            \
    X(30, "convoy", "threads that run one at a time, as behind one lock",                        \
      "syscall of threads, schedstat, time of each CPU", check_convoy)                          \
    X(34, "slow_loaders", "loaders that lack CPU time, while storage is blamed",                 \
      "schedstat, time of each CPU, PSI", check_loaders)                                        \
    X(26, "hung", "processes that hang: all threads wait", "syscall and status of threads",     \
      check_hung)                                                                               \
    X(35, "plan_drift", "threads outside the plan of their job, with --plan",                   \
      "masks of tasks, schedstat, environ, maps, numa_maps", check_plan)
/* clang-format on */

#define CHECK_DECLARE(number, id, finds, reads, run) void run(struct checker *checker);
CHECK_LIST(CHECK_DECLARE)
#undef CHECK_DECLARE

/* Costs below this share, of the CPU time of workers or of the watched time, are not reported:
 * unchanged runs differ by 2% and more (METHOD.md, 6), so that a fix would not show. */
#define HOST_LEAST 0.02

/* The variables that check_openmp_settings and check_debugging may unset, some more than once; NULL
 * after the last. */
const char *check_settings_variable(size_t index);

/*
 * Whether a running job keeps the plan of its workers (view.plan). Pure.
 *
 * A thread is outside if it may run on a CPU that its worker does not have. One on fewer CPUs is
 * not, as OpenMP binds each thread to a CPU. But a worker is narrowed if its busy threads, all
 * together, may use fewer CPUs than they are and than it has: then each of its threads with other
 * CPUs than the plan's is outside. That lasts until its threads may use all planned CPUs, so that a
 * job that rests is not reported anew.
 */

/*
 * Finds the process of each worker: by pids[npids] if these are as many; by the variable of its
 * rank on this machine; or as the busy process whose CPUs have most in common with its own. *how:
 * "--pid", "LOCAL_RANK", ... -ESRCH: nothing tells.
 */
int plan_match(const struct view *view, const int *pids, size_t npids, struct view_plan *plan,
               const char **how, struct err *err);

/* Judges workers and threads after a tick. Call it once a look, before the rest. */
void plan_look(struct view *view, struct view_plan *plan);

/* The threads of a process that are outside. */
struct plan_drift {
    const struct view_process *process;
    const struct view_plan_worker *worker; /* NULL = of no worker */
    unsigned outside;
    unsigned fresh;     /* outside, but not at the last look */
    unsigned changed;   /* outside, and had another mask at the last look */
    unsigned existed;   /* threads of the process at the last look */
    unsigned returned;  /* outside at the last look only */
    int mask;           /* of all that are outside; -1 = they differ */
    struct bitset cpus; /* of all that are outside */
    double since_s;     /* the least since_s of these */
};

struct plan_drift plan_drift_of(const struct view *view, const struct view_process *process);

/* Who set the masks, in a word: outside, openmp, inherited, start, thread, unknown. *why: the
 * evidence, follows "set". */
const char *plan_find_setter(const struct view *view, const struct plan_drift *drift,
                             const char **why);

#endif
