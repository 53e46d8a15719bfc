/*
 * How the kernel divides one CPU up: busy threads of nice levels against the kernel's weights, and
 * what short tasks wait for behind long ones, by policy.
 *
 * In the first part busy threads of nice 0, 5 and 10 (or as far above the level at which this runs)
 * share one CPU for the time. In the second, two
 * threads work for `long` without a pause, again and again, and a third, of the same policy and
 * priority, wakes up every `every` for `short` of work: under fifo it waits for whoever has begun,
 * a convoy; under rr for a time slice at most; the fair class lets it run before those that had
 * more.
 *
 * **Measures** `cpu_share` = a thread's CPU time over that of all three; `share_error` = that over
 * its weight's share, less 1. Keys: nice. `short_wait` ms = from the time at which it was to wake
 * up to the end of its work, less `short`, CLOCK_MONOTONIC. Keys: policy=other|fifo|rr,
 * stat=p50|p99|max.
 * **Source** sched_prio_to_weight of the kernel (kernel/sched/core.c). The convoy:
 * Blasgen, Gray, Mitchell and Price, The convoy phenomenon, 1979.
 * **Limits** What others take of the CPU does not change the shares, unless they are short. Threads
 * of fifo and rr leave the CPU alone for a fifth of the time, lest the kernel hold them back
 * (sched_rt_runtime_us). A time slice of rr is 100 ms as kernels come (sched_rr_timeslice_ms).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/mix64.h"

enum { TASKS = 3, POLICIES = 3, POINTS = 1 + POLICIES, SHORT = 2, BURST = 256, PRIORITY = 10 };
enum { WAITS_LEAST = 5, WAITS_MOST = 20000, IDLE_SHARE = 5 };

/* Weights for nice -20 to 19. */
enum { NICE_LEAST = -20, NICE_MOST = 19, NICE_STEP = 5 };
static const double weights[NICE_MOST - NICE_LEAST + 1] = {
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, /* -20 to -11 */
    9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,  /* -10 to -1 */
    1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,   /* 0 to 9 */
    110,   87,    70,    56,    45,    36,    29,    23,    18,    15,    /* 10 to 19 */
};
static const char *const policy_names[] = {"other", "fifo", "rr", NULL};
static const int policies[POLICIES] = {SCHED_OTHER, SCHED_FIFO, SCHED_RR};
static const char *const stat_names[] = {"p50", "p99", "max", NULL};

struct fairness_params {
    double long_s, short_s, every_s;
};

static const struct opt fairness_opts[] = {
    OPT_SECONDS("long", fairness_params, long_s, "20ms", 1e-4, 1, "TIME",
                "work of a long task without a pause"),
    OPT_SECONDS("short", fairness_params, short_s, "200us", 1e-5, 1, "TIME",
                "work of the short one"),
    OPT_SECONDS("every", fairness_params, every_s, "7ms", 1e-4, 10, "TIME",
                "from one wake-up of the short one to the next"),
    {.name = NULL},
};

enum { BY_NICE = 1, BY_POLICY, BY_STAT };
static const struct bench_dim fairness_dims[] = {
    [BY_NICE] = {"nice"},
    [BY_POLICY] = {"policy", .labels = policy_names},
    [BY_STAT] = {"stat", .labels = stat_names, .said = LABELS("median", "p99", "max")},
    {.name = NULL},
};

enum { CPU_SHARE, SHARE_ERROR, SHORT_WAIT };
static const struct bench_metric fairness_metrics[] = {
    [CPU_SHARE] = {"cpu_share", "ratio", "none"},
    [SHARE_ERROR] = {"share_error", "ratio", "none"},
    [SHORT_WAIT] = {"short_wait", "ms", "lower", .gating = true},
    {.name = NULL},
};

static const struct bench_figure fairness_figures[] = {
    {.name = "fairness",
     .kind = FIGURE_BARS,
     .metric = "short_wait",
     .title = "how long a short task waits behind two long ones",
     .how = "All of one policy and priority, on one CPU",
     .x = {"policy", BY_POLICY},
     .y = {"wait (ms)"},
     .series = {BY_STAT}},
    {.name = NULL},
};

struct fairness {
    struct team by_nice, by_policy; /* nice levels cannot be taken back */
    double long_s, short_s, every_s;
    uint64_t slice_ns, seed;
    int nice; /* of task 0; those of the others are by NICE_STEP above it */
    struct err no_room;
    double share[TASKS];
    /* The current point. */
    _Alignas(128) atomic_bool over;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    unsigned policy, nwaits;
    int refused[TASKS];
    double wait_ms[WAITS_MOST];
    struct task {
        _Alignas(128) clockid_t clock;
        atomic_bool is_there;
    } tasks[TASKS];
};

static int nice_of(const struct fairness *s, unsigned task)
{
    return s->nice + NICE_STEP * (int)task;
}

static int fairness_setup(struct bench_ctx *ctx)
{
    const struct fairness_params *params = ctx->params;
    unsigned os_cpu = ctx->machine->cpus[0].os_cpu;
    const unsigned os_cpus[TASKS] = {os_cpu, os_cpu, os_cpu};
    struct fairness *s = ctx->state;
    s->long_s = params->long_s;
    s->short_s = params->short_s;
    s->every_s = params->every_s;
    s->seed = ctx->round_seed;
    s->nice = getpriority(PRIO_PROCESS, 0);
    if (nice_of(s, TASKS - 1) > NICE_MOST)
        (void)err_set(&s->no_room, -ENOTSUP, "this runs at nice %d: no room for %d more", s->nice,
                      NICE_STEP * (TASKS - 1));
    s->slice_ns = (uint64_t)(ctx->budget_s * 1e9 / (POINTS + 1)); /* two for the shares */
    int rc = team_open(&s->by_nice, ctx, os_cpus, TASKS);
    return rc ? rc : team_open(&s->by_policy, ctx, os_cpus, TASKS);
}

/* ---- shares ---- */

static void read_clocks(const struct fairness *s, uint64_t ns[static TASKS])
{
    for (unsigned task = 0; task < TASKS; task++)
        ns[task] = clock_read_ns(s->tasks[task].clock);
}

static bool all_there(const struct fairness *s)
{
    bool there = true;
    for (unsigned task = 0; task < TASKS; task++)
        there &= atomic_load(&s->tasks[task].is_there);
    return there;
}

/* The one that runs most often looks at the clocks of all. */
static void watch_shares(struct fairness *s, uint64_t chains[static BUSY_CHAINS])
{
    uint64_t first[TASKS], last[TASKS], sum = 0;
    while (!all_there(s))
        (void)sched_yield();
    uint64_t end_ns = clock_now_ns() + 2 * s->slice_ns;
    read_clocks(s, first);
    while (clock_now_ns() < end_ns)
        busy_run(chains, BURST);
    read_clocks(s, last);
    atomic_store(&s->over, true);
    for (unsigned task = 0; task < TASKS; task++)
        sum += last[task] - first[task];
    for (unsigned task = 0; task < TASKS; task++)
        s->share[task] = (double)(last[task] - first[task]) / (double)sum;
}

static void take_share(void *arg, unsigned rank, unsigned n)
{
    struct fairness *s = arg;
    uint64_t chains[BUSY_CHAINS] = {mix64(s->seed + rank)};
    (void)n;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), nice_of(s, rank));
    s->refused[rank] = -pthread_getcpuclockid(pthread_self(), &s->tasks[rank].clock);
    atomic_store(&s->tasks[rank].is_there, true);
    if (rank == 0)
        watch_shares(s, chains);
    while (!atomic_load_explicit(&s->over, memory_order_relaxed))
        busy_run(chains, BURST);
}

static int measure_shares(struct bench_ctx *ctx)
{
    struct fairness *s = ctx->state;
    double sum = 0;
    if (bench_emit_absent(ctx, SHARE_ERROR, &s->no_room, DIMS({BY_NICE, s->nice})))
        return 0;
    atomic_store(&s->over, false);
    (void)team_run(&s->by_nice, NULL, TASKS, take_share, s);
    for (unsigned task = 0; task < TASKS; task++)
        sum += weights[nice_of(s, task) - NICE_LEAST];
    for (unsigned task = 0; task < TASKS; task++) {
        int nice = nice_of(s, task);
        double due = weights[nice - NICE_LEAST] / sum;
        bench_emit(ctx, CPU_SHARE, s->share[task], DIMS({BY_NICE, nice}));
        bench_emit(ctx, SHARE_ERROR, s->share[task] / due - 1, DIMS({BY_NICE, nice}));
    }
    return s->refused[0] ? err_sys(ctx->err, s->refused[0], "cannot read the clock of a thread")
                         : 0;
}

/* ---- convoys ---- */

static void work(const struct fairness *s, unsigned rank, double seconds)
{
    uint64_t chains[BUSY_CHAINS] = {mix64(s->seed + rank)};
    uint64_t end_ns = clock_thread_cpu_ns() + (uint64_t)(seconds * 1e9);
    while (clock_thread_cpu_ns() < end_ns)
        busy_run(chains, BURST);
}

/* Both begin at once, so that the CPU is busy until both are done, and then rests. */
static void be_long(const struct fairness *s, unsigned rank)
{
    double busy_s = s->long_s * (TASKS - 1);
    uint64_t cycle_ns = (uint64_t)(busy_s * IDLE_SHARE / (IDLE_SHARE - 1) * 1e9);
    while (!atomic_load_explicit(&s->over, memory_order_relaxed)) {
        clock_sleep_until(s->start_ns +
                          ((clock_timer_ns() - s->start_ns) / cycle_ns + 1) * cycle_ns);
        work(s, rank, s->long_s);
    }
}

/* Work that came due while it waited is late, too, and not left out. */
static void be_short(struct fairness *s)
{
    uint64_t end_ns = s->start_ns + s->slice_ns, every_ns = (uint64_t)(s->every_s * 1e9);
    uint64_t due_ns = s->start_ns;
    (void)prctl(PR_SET_TIMERSLACK, 1);
    while (s->nwaits < WAITS_MOST && (due_ns < end_ns || s->nwaits < WAITS_LEAST)) {
        due_ns += every_ns;
        clock_sleep_until(due_ns);
        work(s, SHORT, s->short_s);
        s->wait_ms[s->nwaits++] = 1e-6 * (double)(clock_timer_ns() - due_ns) - 1e3 * s->short_s;
    }
    atomic_store(&s->over, true);
}

static void join_convoy(void *arg, unsigned rank, unsigned n)
{
    struct fairness *s = arg;
    const struct sched_param mine = {.sched_priority = s->policy ? PRIORITY : 0}, none = {0};
    (void)n;
    s->refused[rank] = sched_setscheduler(0, policies[s->policy], &mine) ? -errno : 0;
    if (s->refused[rank])
        atomic_store(&s->over, true);
    else if (rank == SHORT)
        be_short(s);
    else
        be_long(s, rank);
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}

static void measure_convoy(struct bench_ctx *ctx, unsigned policy)
{
    struct fairness *s = ctx->state;
    const struct dims at = DIMS({BY_POLICY, policy});
    struct err refused = {0};
    atomic_store(&s->over, false);
    s->policy = policy;
    s->nwaits = 0;
    s->start_ns = clock_timer_ns();
    (void)team_run(&s->by_policy, NULL, TASKS, join_convoy, s);
    for (unsigned task = 0; task < TASKS && !refused.code; task++)
        if (s->refused[task]) {
            (void)err_sys(&refused, s->refused[task], "the system refuses a thread of policy %s",
                          policy_names[policy]);
            refused.code = -ENOTSUP;
        }
    if (bench_emit_absent(ctx, SHORT_WAIT, &refused, dims_with(at, BY_STAT, 0)))
        return;
    size_t n = stats_sort(s->wait_ms, s->nwaits);
    const double stats_ms[] = {stats_median(s->wait_ms, n), stats_percentile(s->wait_ms, n, 0.99),
                               s->wait_ms[n - 1]};
    for (unsigned i = 0; i < 3; i++)
        bench_emit(ctx, SHORT_WAIT, stats_ms[i], dims_with(at, BY_STAT, i));
}

/* ---- both ---- */

static int measure_point(struct bench_ctx *ctx, size_t point)
{
    if (!point)
        return measure_shares(ctx);
    measure_convoy(ctx, (unsigned)point - 1);
    return 0;
}

static int fairness_scan(struct bench_ctx *ctx)
{
    return points_run(ctx, POINTS, measure_point, NULL);
}

const struct bench bench_fairness = {
    .name = "fairness",
    .summary = "shares of one CPU by nice level, and short tasks behind long ones, by policy",
    .opts = fairness_opts,
    .params_size = sizeof(struct fairness_params),
    .metrics = fairness_metrics,
    .dims = fairness_dims,
    .figures = fairness_figures,
    .state_size = sizeof(struct fairness),
    .setup = fairness_setup,
    .scan = fairness_scan,
};
