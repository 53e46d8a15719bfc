/*
 * How late a thread runs after a timer has woken it up, by its scheduling policy: on an idle CPU,
 * and on a CPU where another thread is busy.
 *
 * A thread on each CPU sleeps until an absolute time, one interval after the last, and reads how
 * late it returns. Under load, each CPU also runs a thread that multiplies, of policy `other` and
 * nice 0.
 *
 * **Measures** `wakeup_latency` us = clock on return - time asked for, CLOCK_MONOTONIC, with a
 * timer slack of 1 ns; over the wake-ups of all CPUs. Keys: policy=other|batch|fifo,
 * load=idle|busy, stat=p50|p99|max. `wakeups`: histogram, the share of wake-ups with a lateness
 * above the previous bound and up to `us`. `skipped`: the share of wake-up times that had passed
 * before the thread was ready to sleep.
 * `late_share`: the share of wake-ups later than the option `late`; `late_queued`: run-queue wait
 * (/proc/thread-self/schedstat) as a share of the lateness of these wake-ups; the rest is idle
 * states, interrupts, and the hypervisor.
 * **Source** cyclictest of rt-tests: `cyclictest --laptop -a -t -i 1000 -p 80` is policy=fifo.
 * Without --laptop cyclictest forbids idle states (/dev/cpu_dma_latency); this benchmark allows
 * them. Without -p cyclictest keeps the timer slack of 50 us that ordinary threads have.
 * **Limits** A skipped time is not late, as in cyclictest: a long stall of a CPU is one late
 * wake-up. On a virtual machine the hypervisor's timers are included.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/proc.h"

enum {
    POLICIES = 3,
    LOADS = 2,
    POINTS = POLICIES * LOADS,
    WAKEUPS_LEAST = 10,
    WAKEUPS_MOST = 100000
};

/* Each list begins with "all". */
static const char *const policy_names[] = {"all", "other", "batch", "fifo", NULL};
static const char *const load_names[] = {"all", "idle", "busy", NULL};
static const int policies[POLICIES] = {SCHED_OTHER, SCHED_BATCH, SCHED_FIFO};

/* Upper bounds of the histogram's bins; the last bin also holds what is later. */
static const unsigned bounds_us[] = {1,   2,    5,    10,   20,    50,    100,   200,
                                     500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
enum { BOUNDS = sizeof(bounds_us) / sizeof(bounds_us[0]) };

struct wakeup_params {
    double interval_s, late_s;
    int64_t priority;
    int policy, load;
};

static const struct opt wakeup_opts[] = {
    OPT_SECONDS("interval", wakeup_params, interval_s, "1ms", 1e-5, 10, "TIME",
                "from one wake-up to the next"),
    OPT_SECONDS("late", wakeup_params, late_s, "100us", 1e-6, 10, "TIME",
                "what comes later is late"),
    OPT_INT("priority", wakeup_params, priority, "80", 1, 98, "N", "of policy fifo"),
    OPT_CHOICE("policy", wakeup_params, policy, "all", policy_names, "POLICY",
               "under which the thread is scheduled"),
    OPT_CHOICE("load", wakeup_params, load, "all", load_names, "LOAD",
               "an idle CPU, or one where another thread is busy"),
    {.name = NULL},
};

enum { BY_POLICY = 1, BY_LOAD, BY_STAT, BY_US };
static const struct bench_dim wakeup_dims[] = {
    [BY_POLICY] = {"policy", .labels = policy_names + 1},
    [BY_LOAD] = {"load", .labels = load_names + 1, .labels_long = LABELS("idle CPU", "busy CPU")},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99", "max")},
    [BY_US] = {"us"},
    {.name = NULL},
};

enum { LATENCY, WAKEUPS, SKIPPED, LATE_SHARE, LATE_QUEUED };
static const struct bench_metric wakeup_metrics[] = {
    [LATENCY] = {"wakeup_latency", "us", "lower", .gating = true},
    [WAKEUPS] = {"wakeups", "ratio", "none", .hidden = true},
    [SKIPPED] = {"skipped", "ratio", "lower", .hidden = true},
    [LATE_SHARE] = {"late_share", "ratio", "lower"},
    [LATE_QUEUED] = {"late_queued", "ratio", "none"},
    {.name = NULL},
};

static const struct bench_figure wakeup_figures[] = {
    {.name = "wakeup_latency",
     .kind = FIGURE_LINES,
     .metric = "wakeups",
     .title = "how late a timer wakes threads up",
     .how = "Histogram of all CPUs, medians of the rounds",
     .x = {"lateness (log scale)", BY_US, .log = true, .ticks = FIGURE_TICKS_US},
     .y = {"share of wake-ups"},
     .steps = true,
     .series = {BY_LOAD}},
    {.name = NULL},
};

struct wakeup {
    struct team team;
    struct busy_team busy;
    unsigned n, most; /* CPUs, and most wake-ups per CPU in a point */
    int64_t interval_ns;
    double late_bound_us;
    int priority; /* of policy fifo */
    unsigned npoints, place[POINTS];
    /* The current point. */
    unsigned policy; /* index in policies */
    double *late_us; /* [n][most] */
    struct sleeper {
        _Alignas(128) unsigned wakeups, skipped;
        int refused; /* -errno */
        unsigned late;
        double late_us, queued_us; /* sums over late wake-ups; NaN = unknown */
    } * sleepers;                  /* [n] */
};

static int wakeup_setup(struct bench_ctx *ctx)
{
    const struct wakeup_params *params = ctx->params;
    struct wakeup *s = ctx->state;
    for (unsigned place = 0; place < POINTS; place++)
        if (points_asked(params->policy, place / LOADS) &&
            points_asked(params->load, place % LOADS))
            s->place[s->npoints++] = place;
    double fit = ctx->budget_s / s->npoints / params->interval_s;
    s->n = ctx->machine->ncpus;
    s->most = (unsigned)fmin(fmax(fit, WAKEUPS_LEAST), WAKEUPS_MOST);
    s->interval_ns = (int64_t)(params->interval_s * 1e9);
    s->late_bound_us = params->late_s * 1e6;
    s->priority = (int)params->priority;
    s->late_us = bench_array(ctx, (size_t)s->n * s->most, sizeof(*s->late_us));
    s->sleepers = bench_array(ctx, s->n, sizeof(*s->sleepers));
    if (!s->late_us || !s->sleepers)
        return -ENOMEM;
    int rc = busy_team_open(&s->busy, ctx);
    return rc ? rc : team_open_all(&s->team, ctx);
}

static void wakeup_teardown(struct bench_ctx *ctx)
{
    struct wakeup *s = ctx->state;
    busy_team_close(&s->busy);
}

/* Advances *next_ns beyond now; returns how many wake-up times it skips. */
static unsigned skip_past_times(int64_t *next_ns, int64_t interval_ns)
{
    unsigned skipped = 0;
    for (int64_t at_ns = (int64_t)clock_timer_ns(); *next_ns < at_ns; skipped++)
        *next_ns += interval_ns;
    return skipped;
}

/* Run-queue wait of this thread so far, in us; NaN = the system does not report it. */
static double queued_us(int schedstat_fd)
{
    char text[PROC_TEXT_MAX] = "";
    double run_ns, wait_ns, slices;
    ssize_t n = pread(schedstat_fd, text, sizeof(text) - 1, 0);
    bool known =
        n > 0 && sscanf(text, "%lf %lf %lf", &run_ns, &wait_ns, &slices) == 3 && slices > 0;
    return known ? wait_ns / 1e3 : NAN;
}

static double sleep_once(const struct wakeup *s, struct sleeper *sleeper, int64_t next_ns,
                         int schedstat_fd, double before_us)
{
    clock_sleep_until((uint64_t)next_ns);
    double late_us = (double)((int64_t)clock_timer_ns() - next_ns) / 1e3;
    if (late_us > s->late_bound_us) {
        sleeper->late++;
        sleeper->late_us += late_us;
        sleeper->queued_us += queued_us(schedstat_fd) - before_us;
    }
    return late_us;
}

/* Skipped times count as well, so that a machine that stalls does not prolong the run. */
static void sleep_repeatedly(const struct wakeup *s, struct sleeper *sleeper, double *late_us)
{
    int schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    int64_t next_ns = (int64_t)clock_timer_ns();
    while (sleeper->wakeups + sleeper->skipped < s->most || !sleeper->wakeups) {
        double before_us = queued_us(schedstat_fd);
        next_ns += s->interval_ns;
        sleeper->skipped += skip_past_times(&next_ns, s->interval_ns);
        late_us[sleeper->wakeups++] = sleep_once(s, sleeper, next_ns, schedstat_fd, before_us);
    }
    if (schedstat_fd >= 0)
        (void)close(schedstat_fd);
}

static int priority_of(const struct wakeup *s)
{
    return policies[s->policy] == SCHED_FIFO ? s->priority : 0;
}

static void sleep_under_policy(void *arg, unsigned rank, unsigned n)
{
    struct wakeup *s = arg;
    struct sleeper *sleeper = &s->sleepers[rank];
    const struct sched_param priority = {.sched_priority = priority_of(s)};
    const struct sched_param none = {0};
    (void)n;
    (void)prctl(PR_SET_TIMERSLACK, 1);
    *sleeper = (struct sleeper){.wakeups = 0};
    if (sched_setscheduler(0, policies[s->policy], &priority)) {
        sleeper->refused = -errno;
        return;
    }
    sleep_repeatedly(s, sleeper, s->late_us + (size_t)rank * s->most);
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}

/* True, with the reason in `why`, if the system refused one thread its policy. */
static bool was_refused(const struct wakeup *s, struct err *why)
{
    for (unsigned rank = 0; rank < s->n && !why->code; rank++)
        if (s->sleepers[rank].refused) {
            (void)err_sys(why, s->sleepers[rank].refused,
                          "the system refuses a thread of policy %s and priority %d",
                          policy_names[s->policy + 1], priority_of(s));
            why->code = -ENOTSUP;
        }
    return why->code != 0;
}

/*
 * Moves the lateness of all wake-ups to the front of late_us, sorted, and sums the sleepers' values
 * into `all`. Returns the number of wake-ups.
 */
static size_t gather(struct wakeup *s, struct sleeper *all)
{
    size_t total = 0;
    *all = (struct sleeper){.wakeups = 0};
    for (unsigned rank = 0; rank < s->n; rank++) {
        const struct sleeper *sleeper = &s->sleepers[rank];
        memmove(s->late_us + total, s->late_us + (size_t)rank * s->most,
                sleeper->wakeups * sizeof(*s->late_us));
        total += sleeper->wakeups;
        all->skipped += sleeper->skipped;
        all->late += sleeper->late;
        all->late_us += sleeper->late_us;
        all->queued_us += sleeper->queued_us;
    }
    return stats_sort(s->late_us, total);
}

static void emit_late(struct bench_ctx *ctx, const double *late_us, size_t total, struct dims at)
{
    const double stats_us[] = {stats_median(late_us, total), stats_percentile(late_us, total, 0.99),
                               late_us[total - 1]};
    for (unsigned i = 0; i < 3; i++)
        bench_emit(ctx, LATENCY, stats_us[i], dims_with(at, BY_STAT, i));
    for (size_t i = 0, n = 0, from = 0; i < BOUNDS; i++, from = n) {
        while (n < total && (late_us[n] <= bounds_us[i] || i == BOUNDS - 1))
            n++;
        bench_emit(ctx, WAKEUPS, (double)(n - from) / (double)total,
                   dims_with(at, BY_US, bounds_us[i]));
    }
}

static void emit_point(struct bench_ctx *ctx, struct dims at)
{
    struct wakeup *s = ctx->state;
    struct err refused = {0};
    struct sleeper all;
    if (was_refused(s, &refused)) {
        (void)bench_emit_absent(ctx, LATENCY, &refused, dims_with(at, BY_STAT, 0));
        return;
    }
    size_t total = gather(s, &all);
    emit_late(ctx, s->late_us, total, at);
    bench_emit(ctx, SKIPPED, (double)all.skipped / (double)(all.skipped + total), at);
    bench_emit(ctx, LATE_SHARE, (double)all.late / (double)total, at);
    /* NaN if no wake-up was late or the wait is unknown. fmin would turn NaN into 1. */
    double queued = all.queued_us / all.late_us;
    bench_emit(ctx, LATE_QUEUED, queued > 1 ? 1 : queued, at);
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct wakeup *s = ctx->state;
    unsigned load = s->place[which] % LOADS;
    int rc = load ? busy_team_start(&s->busy, ctx->err) : 0;
    if (rc)
        return rc;
    s->policy = s->place[which] / LOADS;
    (void)team_run(&s->team, NULL, s->n, sleep_under_policy, s);
    if (load)
        busy_team_end(&s->busy);
    emit_point(ctx, DIMS({BY_POLICY, s->policy}, {BY_LOAD, load}));
    return 0;
}

static int wakeup_scan(struct bench_ctx *ctx)
{
    const struct wakeup *s = ctx->state;
    return points_run(ctx, s->npoints, measure_point, NULL);
}

static int wakeup_check(struct bench_ctx *ctx)
{
    const struct wakeup *s = ctx->state;
    return busy_team_check(&s->busy, ctx->err);
}

const struct bench bench_wakeup_latency = {
    .name = "wakeup_latency",
    .summary = "how late a thread runs that a timer wakes up, idle and under load, by policy",
    .opts = wakeup_opts,
    .params_size = sizeof(struct wakeup_params),
    .metrics = wakeup_metrics,
    .dims = wakeup_dims,
    .figures = wakeup_figures,
    .state_size = sizeof(struct wakeup),
    .setup = wakeup_setup,
    .scan = wakeup_scan,
    .check = wakeup_check,
    .teardown = wakeup_teardown,
};
