/*
 * How long a thread of high priority waits for a lock that one of low priority has, while one of
 * middle priority wants the CPU: with priority inheritance and without.
 *
 * All three are on one CPU. The low one takes the lock and wakes the high one, which wakes the
 * middle one and then wants the lock. Without inheritance the low one does not run before the
 * middle one is done, however long that takes. With it, it has the high one's priority until it
 * gives the lock back. The two kinds of lock take turns, as trials in random order.
 *
 * **Measures** `high_wait` ms, from the high one's call until it has the lock, CLOCK_MONOTONIC_RAW.
 * Keys: protocol=none|inherit, policy=fifo|nice, stat=p50|max over the trials. `bounded`: the
 * share of trials in which it waited for less than the middle one works. The works (`held`
 * under the lock, `retention` of the middle one) are CPU time of their threads.
 * **Source** Sha, Rajkumar and Lehoczky 1990; pthread_mutexattr_setprotocol(3). pi_stress of
 * rt-tests makes the same three, and tells only whether one gets stuck.
 * **Limits** Where real-time priorities are refused, the three have nice levels: 19, none and,
 * where that is allowed, -10. Those are weights: nobody is kept out, and the kernel lends no
 * weight, so that inheritance changes little. Between trials the CPU is left alone for as long,
 * lest the kernel hold real-time threads back (sched_rt_runtime_us).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/futex.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/mix64.h"

enum { TRIALS_LEAST = 3, TRIALS_MOST = 500, PRIORITY = 10, BURST = 256 };
enum role { LOW, MIDDLE, HIGH, ROLES };
enum protocol { NONE, INHERIT, PROTOCOLS };

static const char *const protocol_names[] = {"none", "inherit", NULL};

/* Nice levels; 0 = unchanged. */
static const int niceness[ROLES] = {19, 0, -10};

struct inversion_params {
    double held_s, kept_s;
};

static const struct opt inversion_opts[] = {
    OPT_SECONDS("held", inversion_params, held_s, "2ms", 1e-4, 1, "TIME",
                "work of the low one under the lock"),
    OPT_SECONDS("kept", inversion_params, kept_s, "10ms", 1e-4, 1, "TIME",
                "work of the middle one, which wants no lock"),
    {.name = NULL},
};

enum { BY_PROTOCOL = 1, BY_POLICY, BY_STAT };
enum { NICE, FIFO };
enum { STAT_P50, STAT_MAX };
static const struct bench_dim inversion_dims[] = {
    [BY_PROTOCOL] = {"protocol", .labels = protocol_names},
    [BY_POLICY] = {"policy", .labels = LABELS("nice", "fifo")},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "max"), .said = LABELS("median", "max")},
    {.name = NULL},
};

enum { HIGH_WAIT, BOUNDED };
static const struct bench_metric inversion_metrics[] = {
    [HIGH_WAIT] = {"high_wait", "ms", "lower", .gating = true},
    [BOUNDED] = {"bounded", "ratio", "higher"},
    {.name = NULL},
};

static const struct bench_figure inversion_figures[] = {
    {.name = "priority_inversion",
     .kind = FIGURE_BARS,
     .metric = "high_wait",
     .title = "how long a high priority waits for a lock that a low one holds",
     .how = "A middle priority works meanwhile, all on one CPU",
     .x = {"protocol of the mutex", BY_PROTOCOL},
     .y = {"wait for the lock (ms)"},
     .series = {BY_POLICY, BY_STAT}},
    {.name = NULL},
};

struct inversion {
    struct team team; /* by role, all on one CPU */
    bool fifo;
    struct err refused; /* fifo; code 0 = it is allowed */
    uint64_t work_ns[ROLES];
    uint64_t seed;
    unsigned games[PROTOCOLS];
    double wait_ms[PROTOCOLS][TRIALS_MOST];
    /* The current trial. */
    pthread_mutex_t mutex;
    _Alignas(128) _Atomic uint32_t ready[ROLES];
    _Alignas(128) _Atomic uint32_t begun[ROLES]; /* the low one has the lock: these may go on */
    uint64_t waited_ns;
};

static int inversion_setup(struct bench_ctx *ctx)
{
    const struct inversion_params *params = ctx->params;
    unsigned os_cpu = ctx->machine->cpus[0].os_cpu;
    const unsigned os_cpus[ROLES] = {os_cpu, os_cpu, os_cpu};
    struct inversion *s = ctx->state;
    s->work_ns[LOW] = (uint64_t)(params->held_s * 1e9);
    s->work_ns[MIDDLE] = (uint64_t)(params->kept_s * 1e9);
    s->seed = ctx->round_seed;
    return team_open(&s->team, ctx, os_cpus, ROLES);
}

/* -errno of the real-time priority that a role has. */
static int become_fifo(enum role role)
{
    const struct sched_param priority = {.sched_priority = PRIORITY + (int)role};
    return sched_setscheduler(0, SCHED_FIFO, &priority) ? -errno : 0;
}

static void become_other(void)
{
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}

/* The team meets by yielding, which threads of real-time priorities do not: only while they play.
 */
static void take_role(const struct inversion *s, enum role role)
{
    if (s->fifo)
        (void)become_fifo(role);
    else if (niceness[role])
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), niceness[role]);
}

static void leave_role(const struct inversion *s)
{
    if (s->fifo)
        become_other();
}

static void work(const struct inversion *s, enum role role)
{
    uint64_t chains[BUSY_CHAINS] = {mix64(s->seed + role)};
    uint64_t end_ns = clock_thread_cpu_ns() + s->work_ns[role];
    while (clock_thread_cpu_ns() < end_ns)
        busy_run(chains, BURST);
}

/* Both others sleep by then: they have the CPU before us. */
static void play_low(struct inversion *s)
{
    futex_wait_while(&s->ready[MIDDLE], 0);
    futex_wait_while(&s->ready[HIGH], 0);
    take_role(s, LOW);
    (void)pthread_mutex_lock(&s->mutex);
    futex_set(&s->begun[HIGH], 1);
    work(s, LOW);
    (void)pthread_mutex_unlock(&s->mutex);
}

/* The middle one is ready when we ask for the lock, and not before: it would only be late. */
static void play_high(struct inversion *s)
{
    futex_set(&s->begun[MIDDLE], 1);
    uint64_t start_ns = clock_now_ns();
    (void)pthread_mutex_lock(&s->mutex);
    s->waited_ns = clock_now_ns() - start_ns;
    (void)pthread_mutex_unlock(&s->mutex);
}

static void play(void *arg, unsigned rank, unsigned n)
{
    struct inversion *s = arg;
    enum role role = (enum role)rank;
    (void)n;
    if (role == LOW) {
        play_low(s);
    } else {
        take_role(s, role);
        futex_set(&s->ready[role], 1);
        futex_wait_while(&s->begun[role], 0);
        if (role == HIGH)
            play_high(s);
        else
            work(s, MIDDLE);
    }
    leave_role(s);
}

static int make_mutex(struct inversion *s, enum protocol protocol, struct err *err)
{
    pthread_mutexattr_t attributes;
    int rc = -pthread_mutexattr_init(&attributes);
    if (rc)
        return err_sys(err, rc, "cannot make a mutex");
    if (protocol == INHERIT)
        rc = -pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (!rc)
        rc = -pthread_mutex_init(&s->mutex, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    return rc ? err_sys(err, rc, "cannot make a mutex of protocol %s", protocol_names[protocol])
              : 0;
}

static int play_trial(struct inversion *s, enum protocol protocol, struct err *err)
{
    int rc = make_mutex(s, protocol, err);
    if (rc)
        return rc;
    for (unsigned role = 0; role < ROLES; role++) {
        atomic_store(&s->ready[role], 0);
        atomic_store(&s->begun[role], 0);
    }
    uint64_t took_ns = team_run(&s->team, NULL, ROLES, play, s);
    (void)pthread_mutex_destroy(&s->mutex);
    s->wait_ms[protocol][s->games[protocol]++] = (double)s->waited_ns / 1e6;
    const struct timespec pause = {(time_t)(took_ns / 1000000000), (long)(took_ns % 1000000000)};
    (void)nanosleep(&pause, NULL);
    return 0;
}

static void try_fifo(void *arg)
{
    struct inversion *s = arg;
    int rc = become_fifo(HIGH);
    s->fifo = !rc;
    become_other();
    if (rc)
        (void)err_sys(&s->refused, rc,
                      "real-time priorities are refused, so nice levels are taken");
}

static void emit_protocol(struct bench_ctx *ctx, enum protocol protocol)
{
    struct inversion *s = ctx->state;
    const struct dims at = DIMS({BY_PROTOCOL, protocol}, {BY_POLICY, s->fifo ? FIFO : NICE});
    double *wait_ms = s->wait_ms[protocol], kept_ms = (double)s->work_ns[MIDDLE] / 1e6;
    unsigned n = s->games[protocol], bounded = 0;
    for (unsigned trial = 0; trial < n; trial++)
        bounded += wait_ms[trial] < kept_ms;
    if (!s->fifo)
        (void)bench_emit_absent(
            ctx, HIGH_WAIT, &s->refused,
            DIMS({BY_PROTOCOL, protocol}, {BY_POLICY, FIFO}, {BY_STAT, STAT_P50}));
    bench_emit(ctx, HIGH_WAIT, stats_sort_median(wait_ms, n), dims_with(at, BY_STAT, STAT_P50));
    bench_emit(ctx, HIGH_WAIT, wait_ms[n - 1], dims_with(at, BY_STAT, STAT_MAX));
    bench_emit(ctx, BOUNDED, (double)bounded / n, at);
}

static int inversion_scan(struct bench_ctx *ctx)
{
    struct inversion *s = ctx->state;
    uint64_t end_ns = clock_now_ns() + (uint64_t)(ctx->budget_s * 1e9);
    int rc = 0;
    team_call(&s->team, 0, try_fifo, s);
    if (!s->fifo)
        s->refused.code = -ENOTSUP;
    for (unsigned trial = 0; trial < TRIALS_MOST && !rc; trial++) {
        if (trial >= TRIALS_LEAST && clock_now_ns() > end_ns)
            break;
        enum protocol first = (enum protocol)(mix64(s->seed + trial) % PROTOCOLS);
        rc = play_trial(s, first, ctx->err);
        if (!rc)
            rc = play_trial(s, (enum protocol)(INHERIT - first), ctx->err);
    }
    for (unsigned protocol = 0; protocol < PROTOCOLS && !rc; protocol++)
        emit_protocol(ctx, (enum protocol)protocol);
    return rc;
}

const struct bench bench_priority_inversion = {
    .name = "priority_inversion",
    .summary = "how long a high priority waits for a lock of a low one, with inheritance or not",
    .opts = inversion_opts,
    .params_size = sizeof(struct inversion_params),
    .metrics = inversion_metrics,
    .dims = inversion_dims,
    .figures = inversion_figures,
    .state_size = sizeof(struct inversion),
    .setup = inversion_setup,
    .scan = inversion_scan,
};
