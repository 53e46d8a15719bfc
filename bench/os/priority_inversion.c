/*
 * Priority inversion: how long a thread of high priority waits for a lock that a thread of low
 * priority holds, while one of medium priority wants the CPU; with PTHREAD_PRIO_INHERIT and
 * without. Decides whether locks that real-time threads share with loaders need inheritance.
 *
 * All three are on one CPU. Low takes the lock and wakes high, which wakes medium and then asks for
 * the lock. Without inheritance low does not run before medium is done, however long that takes.
 * With it, low has high's priority until it unlocks. The two kinds of lock take turns, in random
 * order.
 *
 * **Measures** `high_wait` ms, from high's call until it has the lock, CLOCK_MONOTONIC_RAW; keys:
 * protocol, policy (fifo: SCHED_FIFO), stat over the trials of a round. `inherit_gain` = p99
 * without inheritance / p99 with it. `ran`: share of the CPU that each role had, by ms since low
 * took the lock: the time line. Work (`held` under the lock, also by high; `burn` of medium) is CPU
 * time of its thread.
 * **Source** Sha, Rajkumar and Lehoczky 1990; pthread_mutexattr_setprotocol(3). pi_stress of
 * rt-tests has the same three threads and reports only whether one is stuck.
 * **Limits** The wait without inheritance is medium's work by construction, so the gain grows with
 * `burn`. Without real-time priorities low has a nice level, and the others none; that is a weight,
 * which the kernel does not lend: inheritance then changes nothing, but an equal level does. A lock
 * that is held for less than the scheduler's base slice (2.8 ms from 8 CPUs on) is mostly let go
 * before medium runs, so give `held` more there. The
 * CPU rests for half of each trial's time under fifo, so that the limit on real-time threads
 * (sched_rt_runtime_us, 95%) never stops them and others are not starved.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/team.h"
#include "bench/os/ran.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/mix64.h"

enum { TRIALS_LEAST = 1, TRIALS_MOST = 500, PRIORITY = 10, BINS = 52 };
enum role { LOW, MEDIUM, HIGH, ROLES };
enum protocol { NONE, INHERIT, PROTOCOLS };
enum policy { FIFO, NICE };

static const char *const policy_names[] = {"auto", "nice", NULL};

struct inversion_params {
    double held_s, burn_s;
    int policy;
    int64_t nice;
};

static const struct opt inversion_opts[] = {
    OPT_SECONDS("held", inversion_params, held_s, "300us", 1e-5, 1, "TIME", "work under the lock"),
    OPT_SECONDS("burn", inversion_params, burn_s, "10ms", 1e-4, 0.1, "TIME",
                "work of medium, which takes no lock"),
    OPT_CHOICE("policy", inversion_params, policy, "auto", policy_names, "POLICY",
               "SCHED_FIFO where that is allowed, or nice levels"),
    OPT_INT("nice", inversion_params, nice, "19", 0, 19, "N", "low's nice level, of policy nice"),
    {.name = NULL},
};

enum { BY_PROTOCOL = 1, BY_POLICY, BY_STAT, BY_ROLE, BY_MS };
static const struct bench_dim inversion_dims[] = {
    [BY_PROTOCOL] = {"protocol", .labels = LABELS("none", "inherit"),
                     .labels_long = LABELS("without inheritance", "PTHREAD_PRIO_INHERIT")},
    [BY_POLICY] = {"policy", .labels = LABELS("fifo", "nice")},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99", "max")},
    [BY_ROLE] = {"role", .labels = LABELS("low", "medium", "high"),
                 .labels_long = LABELS("low (holds the lock)", "medium", "high")},
    [BY_MS] = {"ms"},
    {.name = NULL},
};

enum { HIGH_WAIT, INHERIT_GAIN, RAN };
static const struct bench_metric inversion_metrics[] = {
    [HIGH_WAIT] = {"high_wait", "ms", "lower", .gating = true},
    [INHERIT_GAIN] = {"inherit_gain", "ratio", "none",
                      .below_one = "with inheritance high waits longer"},
    [RAN] = {"ran", "ratio", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure inversion_figures[] = {
    {.name = "priority_inversion",
     .kind = FIGURE_LINES,
     .metric = "ran",
     .title = "who runs while a high priority waits for a lock of a low one",
     .how = "Three threads on one CPU; medium wants no lock",
     .note = "A lock that a real-time thread shares with loaders needs PTHREAD_PRIO_INHERIT",
     .x = {"time since low took the lock (ms)", BY_MS},
     .y = {"share of the CPU"},
     .steps = true,
     .series = {BY_ROLE}},
    {.name = NULL},
};

struct inversion {
    struct team team; /* by role, all on one CPU */
    enum policy policy;
    int nice;           /* of low */
    struct err refused; /* fifo; code 0 = it is allowed */
    uint64_t work_ns[ROLES];
    pthread_mutex_t mutex[PROTOCOLS];
    unsigned ntrials[PROTOCOLS];
    double wait_ms[PROTOCOLS][TRIALS_MOST];
    uint64_t ran_ns[PROTOCOLS][ROLES][BINS];
    /* The current trial. */
    struct ran ran;
    enum protocol protocol;
    _Atomic uint32_t ready[ROLES], begun[ROLES];
    uint64_t waited_ns;
};

static int make_mutexes(struct inversion *s, struct err *err)
{
    pthread_mutexattr_t inherit;
    (void)pthread_mutexattr_init(&inherit);
    int rc = -pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    if (!rc)
        rc = -pthread_mutex_init(&s->mutex[INHERIT], &inherit);
    (void)pthread_mutex_init(&s->mutex[NONE], NULL);
    return rc ? err_sys(err, rc, "cannot make a mutex with inheritance") : 0;
}

static int inversion_setup(struct bench_ctx *ctx)
{
    const struct inversion_params *params = ctx->params;
    unsigned os_cpu = ctx->machine->cpus[0].os_cpu;
    const unsigned os_cpus[ROLES] = {os_cpu, os_cpu, os_cpu};
    struct inversion *s = ctx->state;
    s->work_ns[LOW] = s->work_ns[HIGH] = (uint64_t)(params->held_s * 1e9);
    s->work_ns[MEDIUM] = (uint64_t)(params->burn_s * 1e9);
    s->nice = (int)params->nice;
    s->ran.nbins = BINS;
    s->ran.bin_ns = (s->work_ns[MEDIUM] + 2 * s->work_ns[LOW]) * 5 / 4 / BINS;
    int rc = make_mutexes(s, ctx->err);
    return rc ? rc : team_open(&s->team, ctx, os_cpus, ROLES);
}

static int set_policy(int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    return sched_setscheduler(0, policy, &param) ? -errno : 0;
}

static void work(struct inversion *s, enum role role)
{
    ran_busy(&s->ran, s->ran_ns[s->protocol][role], s->work_ns[role], UINT64_MAX);
}

/* Nobody works before all are there: else low, which has the CPU, may be done before high asks. */
static void play_low(struct inversion *s)
{
    (void)pthread_mutex_lock(&s->mutex[s->protocol]);
    s->ran.start_ns = clock_now_ns();
    futex_set(&s->begun[HIGH], 1);
    futex_wait_while(&s->begun[LOW], 0);
    work(s, LOW);
    (void)pthread_mutex_unlock(&s->mutex[s->protocol]);
}

static void play_high(struct inversion *s)
{
    futex_set(&s->begun[MEDIUM], 1);
    futex_set(&s->begun[LOW], 1);
    uint64_t start_ns = clock_now_ns();
    (void)pthread_mutex_lock(&s->mutex[s->protocol]);
    s->waited_ns = clock_now_ns() - start_ns;
    work(s, HIGH);
    (void)pthread_mutex_unlock(&s->mutex[s->protocol]);
}

static void play(void *arg, unsigned rank, unsigned n)
{
    struct inversion *s = arg;
    (void)n;
    for (unsigned role = MEDIUM; role < ROLES && rank == LOW; role++)
        futex_wait_while(&s->ready[role], 0);
    if (s->policy == FIFO) /* only within a trial: the team meets by yielding */
        (void)set_policy(SCHED_FIFO, PRIORITY + (int)rank);
    else if (rank == LOW && s->nice)
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), s->nice);
    futex_set(&s->ready[rank], 1);
    if (rank != LOW)
        futex_wait_while(&s->begun[rank], 0);
    if (rank == LOW)
        play_low(s);
    else if (rank == HIGH)
        play_high(s);
    else
        work(s, MEDIUM);
    (void)set_policy(SCHED_OTHER, 0);
}

static void run_trial(struct inversion *s, enum protocol protocol)
{
    s->protocol = protocol;
    for (unsigned role = 0; role < ROLES; role++) {
        atomic_store(&s->ready[role], 0);
        atomic_store(&s->begun[role], 0);
    }
    uint64_t took_ns = team_run(&s->team, NULL, ROLES, play, s);
    s->wait_ms[protocol][s->ntrials[protocol]++] = (double)s->waited_ns / 1e6;
    if (s->policy == FIFO)
        clock_sleep_until(clock_timer_ns() + took_ns / 2);
}

static void try_fifo(struct inversion *s)
{
    int rc = set_policy(SCHED_FIFO, PRIORITY + HIGH);
    (void)set_policy(SCHED_OTHER, 0);
    s->policy = rc ? NICE : FIFO;
    if (rc) {
        (void)err_sys(&s->refused, rc,
                      "SCHED_FIFO is refused, so nice levels are used; CAP_SYS_NICE or 'ulimit -r "
                      "20' allows it");
        s->refused.code = -ENOTSUP;
    }
}

static double emit_waits(struct bench_ctx *ctx, struct dims at, double *wait_ms, size_t n)
{
    n = stats_sort(wait_ms, n);
    const double stats_ms[] = {stats_median(wait_ms, n), stats_percentile(wait_ms, n, 0.99),
                               wait_ms[n - 1]};
    for (unsigned stat = 0; stat < 3; stat++)
        bench_emit(ctx, HIGH_WAIT, stats_ms[stat], dims_with(at, BY_STAT, stat));
    return stats_ms[1];
}

/* The first bin stands at both its ends: the figure draws from one point to the next. */
static void emit_time_line(struct bench_ctx *ctx, unsigned protocol, struct dims at)
{
    const struct inversion *s = ctx->state;
    double all_ns = (double)s->ran.bin_ns * s->ntrials[protocol];
    for (unsigned role = 0; role < ROLES; role++)
        for (unsigned bin = 0; bin <= BINS; bin++)
            bench_emit(ctx, RAN, (double)s->ran_ns[protocol][role][bin ? bin - 1 : 0] / all_ns,
                       dims_with(dims_with(at, BY_ROLE, role), BY_MS,
                                 (double)(s->ran.bin_ns * bin) / 1e6));
}

static void emit_all(struct bench_ctx *ctx)
{
    struct inversion *s = ctx->state;
    double p99_ms[PROTOCOLS];
    (void)bench_emit_absent(ctx, INHERIT_GAIN, &s->refused, DIMS({BY_POLICY, FIFO}));
    for (unsigned protocol = 0; protocol < PROTOCOLS; protocol++) {
        const struct dims at = DIMS({BY_PROTOCOL, protocol}, {BY_POLICY, s->policy});
        p99_ms[protocol] = emit_waits(ctx, at, s->wait_ms[protocol], s->ntrials[protocol]);
        emit_time_line(ctx, protocol, at);
    }
    bench_emit(ctx, INHERIT_GAIN, p99_ms[NONE] / p99_ms[INHERIT], DIMS({BY_POLICY, s->policy}));
}

static int inversion_scan(struct bench_ctx *ctx)
{
    struct inversion *s = ctx->state;
    const struct inversion_params *params = ctx->params;
    uint64_t end_ns = clock_now_ns() + (uint64_t)(ctx->budget_s * 1e9);
    s->policy = NICE;
    if (!params->policy)
        try_fifo(s);
    for (unsigned trial = 0; trial < TRIALS_MOST; trial++) {
        if (trial >= TRIALS_LEAST && clock_now_ns() > end_ns)
            break;
        enum protocol first = (enum protocol)(mix64(ctx->round_seed + trial) % PROTOCOLS);
        run_trial(s, first);
        run_trial(s, (enum protocol)(INHERIT - first));
    }
    emit_all(ctx);
    return 0;
}

const struct bench bench_priority_inversion = {
    .name = "priority_inversion",
    .summary = "a high priority's wait for a lock of a low one, with inheritance and without",
    .opts = inversion_opts,
    .params_size = sizeof(struct inversion_params),
    .metrics = inversion_metrics,
    .dims = inversion_dims,
    .figures = inversion_figures,
    .state_size = sizeof(struct inversion),
    .setup = inversion_setup,
    .scan = inversion_scan,
};
