/*
 * How the kernel divides one CPU between two busy processes, by nice level and by the weight of
 * their cgroups: what each gets against what its weight promises, in short and long windows.
 * Decides whether a weight protects a job without pinning, and from which time scale on.
 *
 * Each pair shares the worker's first CPU. By nice both are in one cgroup, at nice 0 and above; by
 * weight each is in a cgroup of its own. Windows are of their CPU time: what others take in between
 * does not count.
 *
 * **Measures** in %: `cpu_share` = CPU time of the heavier / that of both; `promised` = its weight
 * / the sum of both; `share_error` = mean over windows of |share in the window - promised|. Keys:
 * by (nice, cpu.weight of version 2 or cpu.shares of version 1), pair (weights; those of nice 0 and
 * 1, 3, 5, 10, 19), window in ms.
 * **Source** sched_prio_to_weight in kernel/sched/core.c; Documentation/scheduler/sched-eevdf.rst,
 * sched-nice-design.rst; Documentation/admin-guide/cgroup-v2.rst (cpu.weight).
 * **Limits** Two processes that never sleep: one that sleeps gets what it needs before its share is
 * used up. A slice of a few ms cannot be divided, so the error of 1 ms windows is the scheduler's
 * granularity. The two have nothing in common but the CPU: caches and memory have no weights.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bench/common/points.h"
#include "bench/os/context_switch.h"
#include "bench/os/ran.h"
#include "bench/registry.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"

/* A bin is the least window. */
enum { PAIRS = 5, WINDOWS = 3, WINDOW_MOST = 100, BINS = 10000, BIN_NS = 1000000 };
enum { WARM_UP_NS = 50000000, LONGER = 3 /* where others want the CPU, too */ };
enum by { NICE, WEIGHT, SHARES, POINTS = 2 * PAIRS };

/* The lighter; the heavier has nice 0, or a cgroup of the same weight, 1024. */
static const struct {
    int nice;
    unsigned weight;
} lighter[PAIRS] = {{1, 820}, {3, 526}, {5, 335}, {10, 110}, {19, 15}};
enum { HEAVIER = 1024 };
static const unsigned windows_ms[WINDOWS] = {1, 10, WINDOW_MOST};

enum { BY_BY = 1, BY_PAIR, BY_WINDOW };
static const struct bench_dim fairness_dims[] = {
    [BY_BY] = {"by", .labels = LABELS("nice", "cpu.weight", "cpu.shares")},
    [BY_PAIR] = {"pair",
                 .labels = LABELS("1024:820", "1024:526", "1024:335", "1024:110", "1024:15")},
    [BY_WINDOW] = {"window", .unit = "ms windows"},
    {.name = NULL},
};

enum { CPU_SHARE, PROMISED, SHARE_ERROR };
static const struct bench_metric fairness_metrics[] = {
    [CPU_SHARE] = {"cpu_share", "%", "none"},
    [PROMISED] = {"promised", "%", "none"},
    [SHARE_ERROR] = {"share_error", "%", "lower", .gating = true},
    {.name = NULL},
};

static const struct bench_figure fairness_figures[] = {
    {.name = "fairness",
     .kind = FIGURE_LINES,
     .metric = "share_error",
     .title = "how far shares of a CPU are from what weights promise, by window",
     .how = "Two busy processes on one CPU",
     .note = "A weight protects a job over windows in which the error is small",
     .x = {"window (ms, log scale)", BY_WINDOW, .log = true},
     .y = {"mean error of the share (% of the CPU)", .from = 0},
     .series = {BY_PAIR}},
    {.name = NULL},
};

struct fairness {
    struct groups groups;
    struct err no_groups, no_nice; /* code 0 = possible */
    unsigned os_cpu;
    enum by groups_by;
    struct shared { /* with both processes */
        _Atomic uint32_t begun;
        struct err refused[2];
        _Atomic uint64_t
            had_ns[2]; /* CPU time; both end when they have had want_ns, or at end_ns */
        uint64_t want_ns, end_ns;
        struct ran ran;
        uint64_t ns[2][BINS];
    } * shared;
    /* The current pair. */
    unsigned pair;
    enum by by;
};

static int open_groups(struct fairness *s)
{
    char text[32];
    int rc = groups_open(&s->groups, &s->no_groups);
    if (!rc)
        rc = groups_enable(&s->groups, "cpu", &s->no_groups);
    s->groups_by =
        !rc && groups_get(s->groups.dir, "cpu.shares", text, sizeof(text)) ? SHARES : WEIGHT;
    return rc ? rc : groups_keep(&s->groups, &s->no_groups);
}

static int fairness_setup(struct bench_ctx *ctx)
{
    struct fairness *s = ctx->state;
    int nice = getpriority(PRIO_PROCESS, 0);
    s->os_cpu = ctx->machine->cpus[0].os_cpu;
    if (nice)
        (void)err_set(&s->no_nice, -ENOTSUP, "this runs at nice %d: start it at nice 0", nice);
    if (open_groups(s)) {
        s->no_groups.code = -ENOTSUP;
        text_add(s->no_groups.msg, "; root, or 'systemd-run --scope -p Delegate=yes', allows it");
        groups_close(&s->groups); /* now: a process that fails may be ended before its teardown */
    }
    s->shared =
        mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return s->shared == MAP_FAILED
               ? err_set(ctx->err, -ENOMEM, "cannot map what two processes share")
               : 0;
}

static void fairness_teardown(struct bench_ctx *ctx)
{
    struct fairness *s = ctx->state;
    groups_close(&s->groups);
    if (s->shared && s->shared != MAP_FAILED)
        (void)munmap(s->shared, sizeof(*s->shared));
}

static int become(const struct fairness *s, unsigned member, struct err *err)
{
    char dir[GROUPS_PATH_MAX];
    int nice = member ? lighter[s->pair].nice : 0;
    if (s->by == NICE)
        return setpriority(PRIO_PROCESS, 0, nice) ? err_sys(err, -errno, "nice %d", nice) : 0;
    int rc = groups_make(&s->groups, member, dir, sizeof(dir), err);
    if (!rc)
        rc = groups_set_weight(dir, member ? lighter[s->pair].weight : HEAVIER, err);
    return rc ? rc : groups_set(dir, "cgroup.procs", "0", err);
}

static void share_cpu(void *arg, unsigned member)
{
    struct fairness *s = arg;
    struct shared *shared = s->shared;
    (void)become(s, member, &shared->refused[member]);
    if (member)
        futex_wait_while(&shared->begun, 0);
    else {
        shared->ran.start_ns = clock_now_ns() + WARM_UP_NS;
        shared->end_ns = shared->ran.start_ns + shared->ran.nbins * shared->ran.bin_ns;
    }
    futex_set(&shared->begun, 1);
    while (shared->had_ns[0] + shared->had_ns[1] < shared->want_ns &&
           clock_now_ns() < shared->end_ns) {
        ran_busy(&shared->ran, shared->ns[member], BIN_NS, shared->end_ns);
        shared->had_ns[member] = clock_thread_cpu_ns();
    }
}

/*
 * Mean error over windows of so many ms of the two's CPU time: others' time does not count. Adds
 * all to `sum_ns`. The last window may be half a one.
 */
static double find_error(const struct shared *shared, double promised, unsigned window_ms,
                         double sum_ns[static 2])
{
    double errors = 0, ns[2] = {0}, window_ns = 0.95 * BIN_NS * window_ms;
    unsigned counted = 0;
    for (unsigned bin = 0; bin < shared->ran.nbins; bin++) {
        ns[0] += (double)shared->ns[0][bin];
        ns[1] += (double)shared->ns[1][bin];
        double both_ns = ns[0] + ns[1];
        if (both_ns < (bin + 1 < shared->ran.nbins ? window_ns : window_ns / 2))
            continue;
        errors += fabs(100 * ns[0] / both_ns - promised);
        counted++;
        sum_ns[0] += ns[0];
        sum_ns[1] += ns[1];
        ns[0] = ns[1] = 0;
    }
    return errors / counted; /* NaN = none */
}

static void emit_pair(struct bench_ctx *ctx, struct dims at)
{
    const struct fairness *s = ctx->state;
    double promised = 100.0 * HEAVIER / (HEAVIER + lighter[s->pair].weight);
    char doubt[100] = "";
    double sum_ns[2] = {0};
    (void)find_error(s->shared, promised, windows_ms[0], sum_ns);
    if (sum_ns[0] + sum_ns[1] < (double)s->shared->want_ns / 2)
        text_set(doubt, "others had the CPU: the two got only %.0f ms of it",
                 (sum_ns[0] + sum_ns[1]) / 1e6);
    bench_emit(ctx, PROMISED, promised, at);
    bench_emit_doubt(ctx, CPU_SHARE, 100 * sum_ns[0] / (sum_ns[0] + sum_ns[1]), doubt, at);
    for (unsigned i = 0; i < WINDOWS; i++)
        bench_emit_doubt(ctx, SHARE_ERROR, find_error(s->shared, promised, windows_ms[i], sum_ns),
                         doubt, dims_with(at, BY_WINDOW, windows_ms[i]));
}

static int measure_pair(struct bench_ctx *ctx, size_t point)
{
    struct fairness *s = ctx->state;
    s->pair = (unsigned)point % PAIRS;
    s->by = point < PAIRS ? NICE : s->groups_by;
    const struct dims at = DIMS({BY_BY, s->by}, {BY_PAIR, s->pair});
    if (bench_emit_absent(ctx, SHARE_ERROR, s->by == NICE ? &s->no_nice : &s->no_groups, at))
        return 0;
    *s->shared = (struct shared){.ran = {.bin_ns = BIN_NS}};
    s->shared->want_ns =
        points_share_ns(ctx, POINTS, WARM_UP_NS + (uint64_t)2 * WINDOW_MOST * BIN_NS);
    uint64_t most = LONGER * s->shared->want_ns / BIN_NS;
    s->shared->ran.nbins = most < BINS ? (unsigned)most : BINS;
    const struct cpu_pair both = {
        .processes = true, .os_cpus = {s->os_cpu, s->os_cpu}, .run = share_cpu, .arg = s};
    int rc = cpu_pair_run(&both, ctx->err);
    for (unsigned member = 0; member < 2 && !rc; member++)
        if (s->shared->refused[member].code)
            rc = err_set(ctx->err, s->shared->refused[member].code, "%.250s",
                         s->shared->refused[member].msg);
    if (!rc)
        emit_pair(ctx, at);
    return rc;
}

static int fairness_scan(struct bench_ctx *ctx)
{
    return points_run(ctx, POINTS, measure_pair, NULL);
}

const struct bench bench_fairness = {
    .name = "fairness",
    .summary = "shares of one CPU by nice level and by cgroup weight, against what they promise",
    .metrics = fairness_metrics,
    .dims = fairness_dims,
    .figures = fairness_figures,
    .state_size = sizeof(struct fairness),
    .setup = fairness_setup,
    .scan = fairness_scan,
    .teardown = fairness_teardown,
};
