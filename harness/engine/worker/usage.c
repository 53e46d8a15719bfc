#include "harness/engine/worker/usage.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/proc.h"

const struct usage_field usage_fields[] = {
#define USAGE_FIELD(field, ...) {#field, offsetof(struct usage, field), __VA_ARGS__},
    USAGE_FIELDS(USAGE_FIELD)
#undef USAGE_FIELD
        {.name = NULL},
};

static void set(struct usage *usage, const struct usage_field *field, double value)
{
    *(double *)((char *)usage + field->offset) = value;
}

static bool read_task_file(pid_t pid, int tid, const char *name, char *buf, size_t size)
{
    return proc_read_text("", buf, size, "/proc/%d/task/%d/%s", (int)pid, tid, name);
}

static void add_known(double value, double *sum)
{
    if (!isnan(value))
        *sum = (isnan(*sum) ? 0 : *sum) + value;
}

/* A thread that has ended is left out. */
static void add_team_thread(pid_t pid, int tid, struct usage_snapshot *out)
{
    struct task_times times;
    if (!task_read_times(pid, tid, &times))
        return;
    out->has_schedstat &= times.has_wait;
    out->thread[out->nthreads++] =
        (struct usage_thread){.tid = tid, .oncpu_ns = times.oncpu_ns, .runqueue_ns = times.wait_ns};
}

static void read_team(pid_t pid, const struct cpu_samples *cpu_samples, struct usage_snapshot *out)
{
    unsigned team = cpu_samples ? atomic_load(&cpu_samples->threads) : 0;
    if (team > CPU_SAMPLE_THREADS)
        team = CPU_SAMPLE_THREADS;
    out->has_schedstat = 1;
    for (unsigned i = 0; i < team; i++) {
        int tid = atomic_load(&cpu_samples->thread[i].tid);
        if (tid)
            add_team_thread(pid, tid, out);
    }
    if (!out->nthreads)
        add_team_thread(pid, pid, out);
}

/* A worker may have written anything there. */
static unsigned count_threads(const struct usage_snapshot *snapshot)
{
    return snapshot->nthreads < CPU_SAMPLE_THREADS ? snapshot->nthreads : CPU_SAMPLE_THREADS;
}

static const struct usage_thread *find_thread(const struct usage_snapshot *snapshot, int tid)
{
    for (unsigned i = 0; i < count_threads(snapshot); i++)
        if (snapshot->thread[i].tid == tid)
            return &snapshot->thread[i];
    return NULL;
}

/* Reads each helper thread: subtracting the team's time from the process's would add up the lags of
 * all counters. */
static void add_helper_time(pid_t pid, int tid, struct usage_snapshot *out)
{
    struct task_times times;
    if (tid != pid && !find_thread(out, tid) && task_read_times(pid, tid, &times))
        out->so_far.helper_cpu_s += (double)times.oncpu_ns * 1e-9;
}

static void add_task_switches(pid_t pid, int tid, struct usage *so_far)
{
    char buf[4096];
    if (read_task_file(pid, tid, "status", buf, sizeof(buf))) {
        add_known(proc_find_number(buf, "voluntary_ctxt_switches"), &so_far->voluntary_switches);
        add_known(proc_find_number(buf, "nonvoluntary_ctxt_switches"),
                  &so_far->involuntary_switches);
    }
    if (read_task_file(pid, tid, "sched", buf, sizeof(buf)))
        add_known(proc_find_number(buf, "se.nr_migrations"), &so_far->migrations);
}

void usage_forget(struct usage *usage)
{
    for (const struct usage_field *field = usage_fields; field->name; field++)
        set(usage, field, NAN);
}

void usage_read(pid_t pid, const struct cpu_samples *cpu_samples, struct usage_snapshot *out)
{
    struct task_stat stat;
    pid = pid ? pid : getpid();
    memset(out, 0, offsetof(struct usage_snapshot, thread));
    usage_forget(&out->so_far);
    read_team(pid, cpu_samples, out);
    if (task_read_stat(pid, 0, &stat)) {
        out->so_far.minor_faults = (double)stat.minor_faults;
        out->so_far.major_faults = (double)stat.major_faults;
    }
    DIR *tasks = task_open(pid);
    if (tasks)
        out->so_far.helper_cpu_s = 0;
    for (pid_t tid; (tid = task_next(&tasks));) {
        add_task_switches(pid, tid, &out->so_far);
        add_helper_time(pid, tid, out);
    }
    out->at_ns = clock_now_ns();
}

void usage_read_tree(const struct tree_used *used, struct usage_snapshot *out)
{
    usage_forget(&out->so_far);
    out->so_far.voluntary_switches = used->voluntary_switches;
    out->so_far.involuntary_switches = used->involuntary_switches;
    out->so_far.minor_faults = used->minor_faults;
    out->so_far.major_faults = used->major_faults;
    out->nthreads = 1;
    out->thread[0] = (struct usage_thread){.oncpu_ns = (uint64_t)(used->oncpu_s * 1e9),
                                           .runqueue_ns = (uint64_t)(used->runqueue_s * 1e9)};
    out->has_schedstat = !used->no_schedstat;
    out->stands_for = used->team;
    out->at_ns = clock_now_ns();
}

void usage_read_quota(pid_t pid, unsigned sharers, struct usage_snapshot *out)
{
    char process[16], parent[16];
    (void)snprintf(process, sizeof(process), "%d", (int)(pid ? pid : getpid()));
    (void)snprintf(parent, sizeof(parent), "%d", (int)(pid ? getpid() : getppid()));
    cgroup_read_throttled("", process, parent, &out->throttled);
    out->sharers = sharers;
}

static double count_cpus(const struct cpu_samples *cpu_samples)
{
    struct bitset seen = {0};
    unsigned threads = cpu_samples ? atomic_load(&cpu_samples->threads) : 0;
    for (unsigned t = 0; t < threads && t < CPU_SAMPLE_THREADS; t++)
        for (uint32_t m = 0; m < cpu_samples_marks(&cpu_samples->thread[t]); m++)
            if (cpu_samples->thread[t].mark[m].os_cpu < BITSET_BITS)
                bitset_set(&seen, cpu_samples->thread[t].mark[m].os_cpu);
    unsigned count = bitset_count(&seen);
    return count ? (double)count : (double)NAN;
}

/*
 * Splits wall time. The scheduler's counters may lag by a tick, so the three parts are limited to
 * the wall time: first the wait, then the time on a CPU; the rest is blocked.
 */
static void split_wall(const struct usage_snapshot *go, const struct usage_snapshot *end,
                       struct usage *out)
{
    double oncpu_s = 0, runqueue_s = 0;
    const unsigned n = count_threads(end);
    for (unsigned i = 0; i < n; i++) {
        const struct usage_thread *now = &end->thread[i];
        const struct usage_thread *then = find_thread(go, now->tid);
        double ran = (double)(now->oncpu_ns - (then ? then->oncpu_ns : 0)) * 1e-9;
        double waited = (double)(now->runqueue_ns - (then ? then->runqueue_ns : 0)) * 1e-9;
        waited = fmin(waited, out->wall_s);
        runqueue_s += waited;
        oncpu_s += fmin(ran, out->wall_s - waited);
    }
    out->team_threads = n;
    out->oncpu_s = oncpu_s / n;
    out->runqueue_s = runqueue_s / n;
    out->blocked_s = out->wall_s - out->oncpu_s - out->runqueue_s;
    if (!go->has_schedstat || !end->has_schedstat)
        out->runqueue_s = NAN;
}

/*
 * Moves the time stopped by a quota out of the wait. The kernel counts one stopped thread for each
 * CPU with runnable threads; the other threads there would have waited without a quota, too. A
 * quota that workers share stops all of them alike.
 */
static void split_throttled(const struct usage_snapshot *go, const struct usage_snapshot *end,
                            struct usage *out)
{
    out->throttled_s = NAN;
    if (!go->sharers || !end->sharers)
        return;
    double shared_s = (end->throttled.shared_s - go->throttled.shared_s) / end->sharers;
    double stopped_s = fmax(end->throttled.own_s - go->throttled.own_s, shared_s);
    double threads = out->team_threads * fmax(end->stands_for, 1);
    double *wait_s = isnan(out->runqueue_s) ? &out->blocked_s : &out->runqueue_s;
    if (isnan(stopped_s))
        return;
    out->throttled_s = fmin(fmax(stopped_s, 0) / threads, *wait_s);
    *wait_s -= out->throttled_s;
}

/* Unknown for a team of which some threads are in no list, or all have ended. */
static void forget_parts_of_cut_team(const struct cpu_samples *cpu_samples, struct usage *out)
{
    if (!out->team_threads ||
        (cpu_samples && atomic_load(&cpu_samples->threads) > CPU_SAMPLE_THREADS))
        out->oncpu_s = out->runqueue_s = out->throttled_s = out->blocked_s = NAN;
}

void usage_diff(const struct usage_snapshot *go, const struct usage_snapshot *end, uint64_t go_ns,
                uint64_t end_ns, const struct cpu_samples *cpu_samples, struct usage *out)
{
    for (const struct usage_field *field = usage_fields; field->name; field++)
        set(out, field, usage_get(&end->so_far, field) - usage_get(&go->so_far, field));
    if (out->helper_cpu_s < 0)
        out->helper_cpu_s = 0; /* a helper that ended took its time with it */
    out->wall_s = (double)(end_ns - go_ns) * 1e-9;
    split_wall(go, end, out);
    split_throttled(go, end, out);
    forget_parts_of_cut_team(cpu_samples, out);
    out->cpus_visited = count_cpus(cpu_samples);
}

/* Adds the line of one of `cpus`. False: another line, as the sum of all. */
static bool add_cpu_line(const char *line, const struct bitset *cpus, struct usage_machine *out)
{
    int cpu;
    double times_s[PROC_TIMES], all_s = 0;
    if (!proc_parse_cpu(line, &cpu, times_s) || cpu < 0 || cpu >= BITSET_BITS ||
        !bitset_test(cpus, (unsigned)cpu))
        return false;
    for (int i = 0; i < PROC_TIMES; i++)
        all_s += times_s[i];
    add_known(all_s, &out->cpu_s);
    add_known(times_s[PROC_STEAL], &out->steal_s);
    add_known(all_s - times_s[PROC_IDLE] - times_s[PROC_STEAL], &out->busy_s);
    return true;
}

void usage_machine_read(const struct bitset *cpus, struct usage_machine *out)
{
    char buf[4096];
    unsigned found = 0;
    *out = (struct usage_machine){.cpu_s = NAN, .busy_s = NAN, .steal_s = NAN};
    out->at_ns = clock_now_ns();
    FILE *stat = fopen("/proc/stat", "re");
    while (stat && fgets(buf, sizeof(buf), stat) && strncmp(buf, "cpu", 3) == 0)
        found += add_cpu_line(buf, cpus, out);
    if (stat)
        (void)fclose(stat);
    if (found < bitset_count(cpus)) /* renumbered, as by lxcfs: no line is reliable */
        out->cpu_s = out->busy_s = out->steal_s = NAN;
    out->psi_cpu_some_s = proc_read_pressure_s("", "/proc/pressure/cpu");
}

static const struct counter {
    uint32_t type;
    uint64_t config;
    size_t offset; /* in struct usage */
} counters[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, offsetof(struct usage, instructions)},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, offsetof(struct usage, cycles)},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, offsetof(struct usage, cache_misses)},
};
_Static_assert(sizeof(counters) / sizeof(counters[0]) == PERF_COUNTERS,
               "a line here for each of USAGE_COUNTERS");

static int open_counter(const struct counter *counter)
{
    struct perf_event_attr attr = {
        .type = counter->type,
        .size = sizeof(attr),
        .config = counter->config,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void perf_open(struct perf *perf)
{
    for (int i = 0; i < PERF_COUNTERS; i++)
        perf->fd[i] = open_counter(&counters[i]);
}

/* NaN when the counter never ran. */
static double read_counter(int fd)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } got;
    if (fd < 0 || read(fd, &got, sizeof(got)) != (ssize_t)sizeof(got) || !got.running_ns)
        return NAN;
    return trunc((double)got.value * ((double)got.enabled_ns / (double)got.running_ns));
}

void perf_read(const struct perf *perf, struct usage_snapshot *snapshot)
{
    double counts[PERF_COUNTERS], sum = 0;
    for (int i = 0; i < PERF_COUNTERS; i++)
        sum += counts[i] = read_counter(perf->fd[i]);
    for (int i = 0; i < PERF_COUNTERS && !isnan(sum); i++)
        *(double *)((char *)&snapshot->so_far + counters[i].offset) = counts[i];
}

void perf_close(struct perf *perf)
{
    for (int i = 0; i < PERF_COUNTERS; i++)
        if (perf->fd[i] >= 0)
            (void)close(perf->fd[i]);
}

int perf_probe(struct err *err)
{
    for (int i = 0; i < PERF_COUNTERS; i++) {
        int fd = open_counter(&counters[i]);
        if (fd < 0)
            return err_sys(err, -errno, "hardware counters are not available");
        (void)close(fd);
    }
    return 0;
}
