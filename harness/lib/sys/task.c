#include "harness/lib/sys/task.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"

/* The fields that we use, by their numbers in proc_pid_stat(5). */
enum {
    STATE = 3,
    PARENT = 4,
    FLAGS = 9,
    MINOR_FAULTS = 10,
    MAJOR_FAULTS = 12,
    USER = 14,
    SYSTEM = 15,
    USER_BELOW = 16,
    SYSTEM_BELOW = 17,
    PRIORITY = 18,
    THREADS = 20,
    START = 22,
    CPU = 39,
    RT_PRIORITY = 40,
    POLICY = 41
};

double task_weight(int nice)
{
    return 1024 * pow(1.25, -nice);
}

static void copy_name(const char *from, const char *end, char name[static TASK_NAME_MAX])
{
    size_t n = 0;
    for (; from < end && n < TASK_NAME_MAX - 1; from++)
        name[n++] = (char)(*from < ' ' || *from > '~' ? '?' : *from);
    name[n] = '\0';
}

bool task_parse_stat(const char *text, struct task_stat *stat)
{
    static const uint64_t kernel_thread = 0x00200000; /* PF_KTHREAD */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t field[POLICY + 1] = {0};
    if (!open || !close || close < open || close[1] != ' ' || !close[2])
        return false;
    const char *at = close + 3;
    for (int i = PARENT; i <= POLICY && *at; i++) {
        at += strspn(at, " -");
        field[i] = strtoull(at, (char **)&at, 10);
    }
    const double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    *stat = (struct task_stat){
        .state = close[2],
        .ended = close[2] == 'Z' || close[2] == 'X',
        .kernel = field[FLAGS] & kernel_thread,
        .realtime = field[RT_PRIORITY] || field[POLICY] == SCHED_DEADLINE,
        .parent = (pid_t)field[PARENT],
        .threads = (unsigned)field[THREADS],
        .cpu = (int)field[CPU],
        .weight = field[POLICY] == SCHED_IDLE ? 3 : task_weight((int)field[PRIORITY] - 20),
        .minor_faults = field[MINOR_FAULTS],
        .major_faults = field[MAJOR_FAULTS],
        .user_s = (double)field[USER] * tick_s,
        .system_s = (double)field[SYSTEM] * tick_s,
        .below_s = (double)(field[USER_BELOW] + field[SYSTEM_BELOW]) * tick_s,
        .start_ticks = field[START]};
    copy_name(open + 1, close, stat->name);
    return true;
}

bool task_read_stat(pid_t pid, pid_t tid, struct task_stat *stat)
{
    char text[TASK_STAT_MAX];
    return (tid ? PROC_TEXT("", text, "/proc/%d/task/%d/stat", (int)pid, (int)tid)
                : PROC_TEXT("", text, "/proc/%d/stat", (int)pid)) &&
           task_parse_stat(text, stat);
}

uint64_t task_started(pid_t pid, pid_t tid)
{
    struct task_stat stat;
    return task_read_stat(pid, tid, &stat) && !stat.ended ? stat.start_ticks : 0;
}

bool task_parse_times(const char *text, struct task_times *times)
{
    char *wait, *end;
    times->oncpu_ns = strtoull(text, &wait, 10);
    times->wait_ns = strtoull(wait, &end, 10);
    times->turns = strtoull(end, NULL, 10);
    return times->has_wait = end != wait;
}

bool task_read_times(pid_t pid, pid_t tid, struct task_times *times)
{
    char text[PROC_TEXT_MAX];
    struct task_stat stat;
    *times = (struct task_times){0};
    if (PROC_TEXT("", text, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid) &&
        task_parse_times(text, times))
        return true;
    if (!task_read_stat(pid, tid, &stat))
        return false;
    times->oncpu_ns = (uint64_t)((stat.user_s + stat.system_s) * 1e9);
    return true;
}

double task_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    struct task_stat stat;
    if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &used))
        return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
    return task_read_stat(pid, 0, &stat) ? stat.user_s + stat.system_s : 0;
}

DIR *task_open(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return opendir(path);
}

pid_t task_next(DIR **folder)
{
    for (struct dirent *entry; (entry = file_next(folder));) {
        char *end;
        long id = strtol(entry->d_name, &end, 10);
        if (id > 0 && !*end)
            return (pid_t)id;
    }
    return 0;
}

/* A busy thread ran or waited for a CPU for at least this share of the time between two counts. */
static const double busy_share = 0.1;
/* Over a shorter time, every thread would seem busy. */
static const uint64_t count_interval_ns = 15000000;
/* If samples saw less than this share of the kernel's CPU time, the run-queue wait is unknown. */
static const double sampled_share_least = 0.2;

static void add_process(pid_t pid, struct tree_process *out, unsigned *n, unsigned most)
{
    struct task_stat stat;
    for (unsigned i = 0; i < *n; i++)
        if (out[i].pid == pid)
            return;
    if (*n < most && task_read_stat(pid, 0, &stat))
        out[(*n)++] = (struct tree_process){
            .pid = pid, .parent = stat.parent, .started = stat.start_ticks, .ended = stat.ended};
}

/* Adds the children of one thread from the kernel's list. False: the kernel has no such list. */
static bool add_children(pid_t pid, int tid, struct tree_process *out, unsigned *n, unsigned most)
{
    char path[96];
    long child;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, tid);
    FILE *children = fopen(path, "re");
    if (!children)
        return false;
    while (fscanf(children, "%ld", &child) == 1)
        add_process((pid_t)child, out, n, most);
    (void)fclose(children);
    return true;
}

/* The same by a search of all processes, for kernels without CONFIG_PROC_CHILDREN. */
static void add_by_parent(pid_t parent, struct tree_process *out, unsigned *n, unsigned most)
{
    struct task_stat stat;
    DIR *all = opendir("/proc");
    for (pid_t pid; (pid = task_next(&all));)
        if (task_read_stat(pid, 0, &stat) && stat.parent == parent)
            add_process(pid, out, n, most);
}

static void add_below(pid_t pid, struct tree_process *out, unsigned *n, unsigned most)
{
    DIR *tasks = task_open(pid);
    bool listed = !tasks;
    for (pid_t tid; (tid = task_next(&tasks));)
        listed |= add_children(pid, tid, out, n, most);
    if (!listed)
        add_by_parent(pid, out, n, most);
}

unsigned tree_list(pid_t root, struct tree_process *out, unsigned most)
{
    unsigned n = 0;
    add_below(root, out, &n, most);
    for (unsigned i = 0; i < n; i++)
        add_below(out[i].pid, out, &n, most);
    return n;
}

/* Lists all descendants, however many. The caller frees *out. Returns their number. */
static unsigned list_all(pid_t root, struct tree_process **out)
{
    *out = NULL;
    for (unsigned room = TREE_PROCESSES;; room *= 2) {
        struct tree_process *grown = realloc(*out, room * sizeof(*grown));
        if (!grown)
            return *out ? room / 2 : 0;
        *out = grown;
        unsigned n = tree_list(root, grown, room);
        if (n < room)
            return n;
    }
}

bool tree_is_same(const struct tree_process *process)
{
    return task_started(process->pid, 0) == process->started;
}

double tree_cpu_s(pid_t pid)
{
    struct tree_process *below;
    struct task_stat stat;
    unsigned n = list_all(pid, &below);
    double sum = 0;
    for (unsigned i = 0; i <= n; i++) {
        pid_t one = i < n ? below[i].pid : pid;
        if (task_read_stat(one, 0, &stat))
            sum += task_cpu_s(one) + stat.below_s;
    }
    free(below);
    return sum;
}

unsigned tree_list_others(struct tree_use *out, unsigned most)
{
    struct tree_process *ours;
    unsigned n = 0, nours = list_all(getpid(), &ours);
    DIR *all = opendir("/proc");
    for (pid_t pid; (pid = task_next(&all));) {
        struct task_stat stat;
        bool is_ours = pid == getpid();
        for (unsigned i = 0; i < nours && !is_ours; i++)
            is_ours = ours[i].pid == pid;
        if (n == most || is_ours || !task_read_stat(pid, 0, &stat))
            continue;
        out[n] =
            (struct tree_use){.pid = pid, .started = stat.start_ticks, .cpu_s = task_cpu_s(pid)};
        memcpy(out[n++].name, stat.name, sizeof(stat.name));
    }
    free(ours);
    return n;
}

static double time_s(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/* Of the kernel's counts. */
static void subtract(const struct tree_used *of, struct tree_used *from)
{
    from->cpu_s -= of->cpu_s;
    from->minor_faults -= of->minor_faults;
    from->major_faults -= of->major_faults;
    from->voluntary_switches -= of->voluntary_switches;
    from->involuntary_switches -= of->involuntary_switches;
}

/* The kernel's counts for all descendants: live ones, and ended ones that were reaped. */
static void count_all(const struct tree *tree, const struct tree_process *below, unsigned n,
                      struct tree_used *out)
{
    struct rusage ended;
    struct task_stat stat;
    (void)getrusage(RUSAGE_CHILDREN, &ended);
    out->cpu_s = time_s(&ended.ru_utime) + time_s(&ended.ru_stime);
    out->minor_faults = (double)ended.ru_minflt;
    out->major_faults = (double)ended.ru_majflt;
    out->voluntary_switches = (double)ended.ru_nvcsw;
    out->involuntary_switches = (double)ended.ru_nivcsw;
    for (unsigned i = 0; i < n; i++) {
        if (!task_read_stat(below[i].pid, 0, &stat))
            continue;
        out->cpu_s += task_cpu_s(below[i].pid) + stat.below_s;
        out->minor_faults += (double)stat.minor_faults;
        out->major_faults += (double)stat.major_faults;
    }
    subtract(&tree->not_ours, out);
}

/* NULL: no memory. Threads are sampled in the same order each time: a search begins behind the
 * last. */
static struct tree_thread *find_thread(struct tree *tree, int pid, int tid, uint64_t started)
{
    for (uint32_t i = 0; i < tree->nthreads; i++) {
        struct tree_thread *thread = &tree->thread[(tree->next + i) % tree->nthreads];
        if (thread->tid != tid || thread->started != started)
            continue;
        tree->next = (uint32_t)(thread - tree->thread) + 1;
        return thread;
    }
    if (tree->nthreads == tree->room) {
        uint32_t room = tree->room ? 2 * tree->room : 64;
        struct tree_thread *grown = realloc(tree->thread, room * sizeof(*grown));
        if (!grown)
            return NULL;
        tree->thread = grown;
        tree->room = room;
    }
    struct tree_thread *thread = &tree->thread[tree->nthreads++];
    *thread = (struct tree_thread){.pid = pid, .tid = tid, .started = started};
    return thread;
}

static bool has_ended(const struct tree_thread *thread)
{
    return task_started(thread->pid, thread->tid) != thread->started;
}

/* Keeps only the sums of ended threads: a command may start any number. A sample may miss a thread
 * that lives. */
static void drop_ended(struct tree *tree, uint64_t now_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tree->nthreads; i++) {
        const struct tree_thread *thread = &tree->thread[i];
        if (thread->sampled_ns == now_ns || !has_ended(thread)) {
            tree->thread[kept++] = *thread;
            continue;
        }
        tree->ended_oncpu_s += (double)thread->oncpu_ns * 1e-9;
        tree->ended_runqueue_s += (double)thread->runqueue_ns * 1e-9;
    }
    tree->nthreads = kept;
}

/* Returns the entry for a new mask; if full, one that did not last and is gone. NULL: no room. */
static struct tree_mask *free_mask_entry(struct tree *tree)
{
    if (tree->nmasks < TREE_MASKS)
        return &tree->mask[tree->nmasks++];
    for (uint32_t i = 0; i < tree->nmasks; i++)
        if (!tree->mask[i].persists && tree->mask[i].seen_ns < tree->sampled_ns)
            return &tree->mask[i];
    return NULL;
}

/* Keeps one entry per thread name and mask. */
static void record_mask(struct tree *tree, const char *name, int tid, uint64_t now_ns)
{
    struct bitset cpus;
    if (affinity_get(tid, &cpus) || bitset_equal(&cpus, &tree->planned))
        return;
    for (uint32_t i = 0; i < tree->nmasks; i++) {
        struct tree_mask *mask = &tree->mask[i];
        if (strcmp(mask->name, name) != 0 || !bitset_equal(&mask->cpus, &cpus))
            continue;
        if (mask->seen_ns < tree->sampled_ns)
            mask->since_ns = now_ns;
        mask->persists |= now_ns - mask->since_ns >= TREE_MASK_PERSISTS_MS * UINT64_C(1000000);
        mask->seen_ns = now_ns;
        return;
    }
    struct tree_mask *out = free_mask_entry(tree);
    if (!out)
        return;
    *out = (struct tree_mask){.tid = tid,
                              .cpus = cpus,
                              .outside_plan = !affinity_keeps(&cpus, &tree->planned),
                              .since_ns = now_ns,
                              .seen_ns = now_ns};
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
}

/* State of one tree_sample. */
struct sampling {
    struct tree *tree;
    uint64_t now_ns;
    tree_thread_ran *seen;
    void *arg;
};

static void sample_thread(struct sampling *sampling, int pid, int tid)
{
    struct tree *tree = sampling->tree;
    struct task_stat stat;
    struct task_times times;
    if (!task_read_stat(pid, tid, &stat) || !task_read_times(pid, tid, &times))
        return;
    struct tree_thread *thread = find_thread(tree, pid, tid, stat.start_ticks);
    if (!thread)
        return;
    tree->before.no_schedstat |= !times.has_wait;
    if (times.oncpu_ns > thread->oncpu_ns && sampling->seen)
        sampling->seen(sampling->arg, tid, (unsigned)stat.cpu, sampling->now_ns);
    thread->sampled_ns = sampling->now_ns;
    thread->oncpu_ns = times.oncpu_ns;
    thread->runqueue_ns = times.wait_ns;
    if (!stat.ended)
        record_mask(tree, stat.name, tid, sampling->now_ns);
}

static void sample_process(struct sampling *sampling, pid_t pid)
{
    DIR *tasks = task_open(pid);
    for (pid_t tid; (tid = task_next(&tasks));)
        sample_thread(sampling, pid, tid);
}

/* Number of threads that were busy since the last count. */
static unsigned count_busy(const struct tree *tree, uint64_t now_ns)
{
    double least_ns = busy_share * (double)(now_ns - tree->counted_ns);
    unsigned busy = 0;
    for (uint32_t i = 0; i < tree->nthreads; i++) {
        const struct tree_thread *thread = &tree->thread[i];
        busy += (double)(thread->oncpu_ns + thread->runqueue_ns - thread->counted_ns) >= least_ns;
    }
    return busy;
}

static void count_team(struct tree *tree, uint64_t now_ns)
{
    if (now_ns - tree->counted_ns < count_interval_ns)
        return;
    unsigned busy = count_busy(tree, now_ns);
    tree->team = busy > tree->team ? busy : tree->team;
    tree->counted_ns = now_ns;
    drop_ended(tree, now_ns);
    for (uint32_t i = 0; i < tree->nthreads; i++)
        tree->thread[i].counted_ns = tree->thread[i].oncpu_ns + tree->thread[i].runqueue_ns;
}

/* Adds the run's threads to `used`. `scaled`: the run has ended; scale to the kernel's count. */
static void add_run(struct tree *tree, bool scaled)
{
    struct tree_used *used = &tree->used;
    double oncpu_s = tree->ended_oncpu_s, runqueue_s = tree->ended_runqueue_s, scale = 1;
    for (uint32_t i = 0; i < tree->nthreads; i++) {
        oncpu_s += (double)tree->thread[i].oncpu_ns * 1e-9;
        runqueue_s += (double)tree->thread[i].runqueue_ns * 1e-9;
    }
    double counted_s = used->cpu_s - tree->cpu_s_before;
    if (scaled && oncpu_s > 0)
        scale = fmax(counted_s / oncpu_s, 1);
    if (scaled && oncpu_s < sampled_share_least * counted_s)
        used->no_schedstat = tree->before.no_schedstat = true;
    unsigned team = tree->team ? tree->team : 1;
    used->team = team > tree->before.team ? team : tree->before.team;
    used->oncpu_s = tree->before.oncpu_s + (scaled ? fmax(oncpu_s, counted_s) : oncpu_s) / team;
    used->runqueue_s = tree->before.runqueue_s + runqueue_s * scale / team;
}

void tree_begin(struct tree *tree, const struct bitset *planned)
{
    struct tree_used counted = {0};
    tree->planned = *planned;
    tree->before = tree->used;
    tree->ended_oncpu_s = tree->ended_runqueue_s = 0;
    tree->nthreads = 0;
    tree->team = 0;
    tree->counted_ns = clock_now_ns();
    count_all(tree, NULL, 0, &counted);
    tree->cpu_s_before = counted.cpu_s;
}

void tree_leave_out(struct tree *tree)
{
    count_all(tree, NULL, 0, &tree->reaped);
}

double tree_count_left_out(struct tree *tree)
{
    struct tree_used now = {0}, less = tree->reaped;
    count_all(tree, NULL, 0, &now);
    subtract(&now, &less);
    subtract(&less, &tree->not_ours);
    tree->left_out = 0;
    return -less.cpu_s;
}

/* Drops the process that is left out and its descendants, which come after it. */
static unsigned drop_left_out(pid_t left_out, struct tree_process *below, unsigned n)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        bool drops = below[i].pid == left_out, is_known = below[i].parent == getpid();
        for (unsigned k = 0; k < kept && !is_known; k++)
            is_known = below[k].pid == below[i].parent;
        if (!drops && is_known)
            below[kept++] = below[i];
    }
    return kept;
}

void tree_sample(struct tree *tree, tree_thread_ran *seen, void *arg)
{
    struct tree_process *below;
    unsigned n = list_all(getpid(), &below);
    if (tree->left_out)
        n = drop_left_out(tree->left_out, below, n);
    struct sampling sampling = {.tree = tree, .now_ns = clock_now_ns(), .seen = seen, .arg = arg};
    for (unsigned i = 0; i < n; i++)
        sample_process(&sampling, below[i].pid);
    tree->sampled_ns = sampling.now_ns;
    count_team(tree, sampling.now_ns);
    count_all(tree, below, n, &tree->used);
    free(below);
    tree->used.no_schedstat = tree->before.no_schedstat;
    add_run(tree, false);
}

void tree_begin_running(struct tree *tree, const struct bitset *planned)
{
    tree_begin(tree, planned);
    tree_sample(tree, NULL, NULL);
    for (uint32_t i = 0; i < tree->nthreads; i++) {
        struct tree_thread *thread = &tree->thread[i];
        thread->counted_ns = thread->oncpu_ns + thread->runqueue_ns;
        tree->ended_oncpu_s -= (double)thread->oncpu_ns * 1e-9;
        tree->ended_runqueue_s -= (double)thread->runqueue_ns * 1e-9;
    }
}

void tree_end(struct tree *tree)
{
    count_all(tree, NULL, 0, &tree->used);
    if (!tree->team) /* the run was too short for a count */
        tree->team = count_busy(tree, clock_now_ns());
    add_run(tree, true);
    free(tree->thread);
    tree->thread = NULL;
    tree->nthreads = tree->room = tree->next = 0;
    tree->before = tree->used;
}
