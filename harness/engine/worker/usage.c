#include "harness/engine/worker/usage.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/base/bitset.h"
#include "harness/lib/files/file.h"
#include "harness/lib/files/proc.h"
#include "harness/lib/sys/clock.h"

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
    return pid ? proc_read_text("", buf, size, "/proc/%d/task/%d/%s", (int)pid, tid, name)
               : proc_read_text("", buf, size, "/proc/self/task/%d/%s", tid, name);
}

/* Adds the number after `key` in `text`, if any, to the sum; the sum is NaN before the first. */
static void add_number(const char *text, const char *key, double *sum)
{
    const char *at = strstr(text, key);
    if (!at)
        return;
    at += strlen(key);
    at += strspn(at, " \t:");
    *sum = (isnan(*sum) ? 0 : *sum) + (double)strtoull(at, NULL, 10);
}

/* Field `number` (1-based, at least 3) of a stat file; counts after the name's closing bracket. */
static uint64_t stat_field(const char *stat, int number)
{
    const char *at = strrchr(stat, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void read_thread_times(pid_t pid, struct usage_thread *thread, uint8_t *has_schedstat)
{
    char buf[1024];
    if (read_task_file(pid, thread->tid, "schedstat", buf, sizeof(buf)) &&
        sscanf(buf, "%" SCNu64 " %" SCNu64, &thread->oncpu_ns, &thread->runqueue_ns) == 2)
        return;
    *has_schedstat = 0;
    thread->runqueue_ns = 0;
    if (read_task_file(pid, thread->tid, "stat", buf, sizeof(buf))) {
        uint64_t ticks = stat_field(buf, 14) + stat_field(buf, 15);
        thread->oncpu_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    }
}

static void read_team(pid_t pid, const struct cpu_samples *cpu_samples, struct usage_snapshot *out)
{
    unsigned team = cpu_samples ? atomic_load(&cpu_samples->threads) : 0;
    if (team > CPU_SAMPLE_THREADS)
        team = CPU_SAMPLE_THREADS;
    unsigned n = 0;
    for (unsigned i = 0; i < team; i++) {
        int tid = atomic_load(&cpu_samples->thread[i].tid);
        if (tid)
            out->thread[n++] = (struct usage_thread){.tid = tid};
    }
    if (!n)
        out->thread[n++] = (struct usage_thread){.tid = (int)(pid ? pid : getpid())};
    out->has_schedstat = 1;
    for (unsigned i = 0; i < n; i++)
        read_thread_times(pid, &out->thread[i], &out->has_schedstat);
    out->nthreads = n;
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
    struct usage_thread helper = {.tid = tid};
    uint8_t has_schedstat;
    if (tid == (int)(pid ? pid : getpid()) || find_thread(out, tid))
        return;
    read_thread_times(pid, &helper, &has_schedstat);
    out->so_far.helper_cpu_s += (double)helper.oncpu_ns * 1e-9;
}

static void add_task_switches(pid_t pid, int tid, struct usage *so_far)
{
    char buf[4096];
    if (read_task_file(pid, tid, "status", buf, sizeof(buf))) {
        add_number(buf, "\nvoluntary_ctxt_switches", &so_far->voluntary_switches);
        add_number(buf, "\nnonvoluntary_ctxt_switches", &so_far->involuntary_switches);
    }
    if (read_task_file(pid, tid, "sched", buf, sizeof(buf)))
        add_number(buf, "se.nr_migrations", &so_far->migrations);
}

void usage_forget(struct usage *usage)
{
    for (const struct usage_field *field = usage_fields; field->name; field++)
        set(usage, field, NAN);
}

void usage_read(pid_t pid, const struct cpu_samples *cpu_samples, struct usage_snapshot *out)
{
    char path[64], buf[1024];
    memset(out, 0, offsetof(struct usage_snapshot, thread));
    usage_forget(&out->so_far);
    read_team(pid, cpu_samples, out);
    if (PROC_TEXT("", buf, "/proc/%d/stat", (int)(pid ? pid : getpid()))) {
        out->so_far.minor_faults = (double)stat_field(buf, 10);
        out->so_far.major_faults = (double)stat_field(buf, 12);
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)(pid ? pid : getpid()));
    DIR *tasks = opendir(path);
    if (tasks)
        out->so_far.helper_cpu_s = 0;
    for (struct dirent *entry; (entry = file_next(&tasks));) {
        int tid = (int)strtol(entry->d_name, NULL, 10);
        if (!tid)
            continue; /* . and .. */
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

/* The parts of a team of which some threads are in no list are unknown. */
static void forget_parts_of_cut_team(const struct cpu_samples *cpu_samples, struct usage *out)
{
    if (cpu_samples && atomic_load(&cpu_samples->threads) > CPU_SAMPLE_THREADS)
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

/* Adds the line "cpu3 1 2 ..." of one of `cpus`. False: another line, as the sum "cpu  1 2 ...". */
static bool add_cpu_line(const char *line, const struct bitset *cpus, struct usage_machine *out)
{
    uint64_t t[8];
    char *numbers = NULL;
    unsigned long cpu = strtoul(line + 3, &numbers, 10);
    if (line[3] == ' ' || cpu >= BITSET_BITS || !bitset_test(cpus, (unsigned)cpu))
        return false;
    if (sscanf(numbers,
               "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
        return false;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK), all = 0;
    for (int i = 0; i < 8; i++)
        all += (double)t[i];
    double idle = (double)(t[3] + t[4]); /* idle and iowait */
    bool first = isnan(out->cpu_s);
    out->cpu_s = (first ? 0 : out->cpu_s) + all * tick_s;
    out->steal_s = (first ? 0 : out->steal_s) + (double)t[7] * tick_s;
    out->busy_s = (first ? 0 : out->busy_s) + (all - idle - (double)t[7]) * tick_s;
    return true;
}

void usage_machine_read(const struct bitset *cpus, struct usage_machine *out)
{
    char buf[4096];
    uint64_t total_us;
    unsigned found = 0;
    *out =
        (struct usage_machine){.cpu_s = NAN, .busy_s = NAN, .steal_s = NAN, .psi_cpu_some_s = NAN};
    out->at_ns = clock_now_ns();
    FILE *stat = fopen("/proc/stat", "re");
    while (stat && fgets(buf, sizeof(buf), stat) && strncmp(buf, "cpu", 3) == 0)
        found += add_cpu_line(buf, cpus, out);
    if (stat)
        (void)fclose(stat);
    if (found < bitset_count(cpus)) /* renumbered, as by lxcfs: no line is reliable */
        out->cpu_s = out->busy_s = out->steal_s = NAN;
    if (PROC_TEXT("", buf, "/proc/pressure/cpu") &&
        sscanf(buf, "some avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64, &total_us) == 1)
        out->psi_cpu_some_s = (double)total_us * 1e-6;
}

double usage_process_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec ts;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
        return 0;
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}
