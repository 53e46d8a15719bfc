#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/err.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"

/*
 * A SCHED_IDLE thread that keeps a CPU out of its idle states. Any other thread that wants the CPU
 * gets it at once.
 *
 *   rc = awake_start(&awake, os_cpu, err);
 *   ...
 *   awake_end(&awake);
 */

/* Must not move between start and end. Zeroed = not started. */
struct awake {
    unsigned os_cpu;
    bool started;
    atomic_bool stop;
    _Atomic uint32_t state;
    int refused; /* -errno */
    pthread_t thread;
};

static void awake_end(struct awake *awake);

enum { STARTING, RUNS, REFUSED };

static int pin_and_set_policy(const struct awake *awake)
{
    const struct sched_param none = {0};
    struct bitset cpu = {0};
    bitset_set(&cpu, awake->os_cpu);
    int rc = affinity_set(0, &cpu);
    if (!rc && sched_setscheduler(0, SCHED_IDLE, &none))
        rc = -errno;
    return rc;
}

static void *keep_awake(void *arg)
{
    struct awake *awake = arg;
    awake->refused = pin_and_set_policy(awake);
    futex_set(&awake->state, awake->refused ? REFUSED : RUNS);
    while (!awake->refused && !atomic_load_explicit(&awake->stop, memory_order_relaxed))
        ;
    return NULL;
}

/* Returns once the thread runs. -ENOTSUP if the system refuses the thread, its CPU or its
 * policy. */
static int awake_start(struct awake *awake, unsigned os_cpu, struct err *err)
{
    *awake = (struct awake){.os_cpu = os_cpu};
    int rc = -pthread_create(&awake->thread, NULL, keep_awake, awake);
    awake->started = !rc;
    if (!rc) {
        futex_wait_while(&awake->state, STARTING);
        rc = awake->refused;
    }
    if (!rc)
        return 0;
    awake_end(awake);
    (void)err_sys(err, rc, "the system refuses a thread of policy SCHED_IDLE on CPU %u", os_cpu);
    return err ? (err->code = -ENOTSUP) : -ENOTSUP;
}

/* Does nothing if not started. */
static void awake_end(struct awake *awake)
{
    if (!awake->started)
        return;
    atomic_store(&awake->stop, true);
    (void)pthread_join(awake->thread, NULL);
    awake->started = false;
}

/*
 * How much longer an idle CPU takes to wake up than a busy one: the effective exit latency of its
 * idle states.
 *
 * Each CPU has a thread that sleeps until an absolute time, 1 to 10 ms ahead in a fixed order, and
 * measures how late it wakes up. Half of the sleeps leave the CPU idle. During the other half a
 * thread of the policy SCHED_IDLE keeps the CPU busy and yields to the sleeper at once. Both halves
 * contain timers, interrupts and the scheduler; only the idle half contains the idle state.
 *
 * **Measures** `idle_exit` us = median lateness when idle - median lateness when busy;
 * `wakeup_late` us, the two medians. On CLOCK_MONOTONIC, with a timer slack of 1 ns. Keys: cpu, the
 * system's number; state=idle|busy.
 * **Source** kernel, admin-guide/pm/cpuidle; cyclictest measures lateness alike.
 * **Limits** All CPUs sleep together, so that the whole package may go into its deep states. On a
 * virtual machine the hypervisor takes an idle CPU: the time is how long its return takes.
 */

enum { SLEEPS_LEAST = 10, SLEEPS_MOST = 400, STATES = 2 };

static const double mean_sleep_s = 5.5e-3;

enum { BY_CPU = 1, BY_STATE };
enum { STATE_IDLE, STATE_BUSY };
static const struct bench_dim idle_dims[] = {
    [BY_CPU] = {"cpu"},
    [BY_STATE] = {"state", .labels = LABELS("idle", "busy")},
    {.name = NULL},
};

enum { IDLE_EXIT, WAKEUP_LATE };
static const struct bench_metric idle_metrics[] = {
    [IDLE_EXIT] = {"idle_exit", "us", "lower", .difference = true},
    [WAKEUP_LATE] = {"wakeup_late", "us", "lower", .hidden = true},
    {.name = NULL},
};

struct idle {
    struct team team;
    unsigned n, sleeps;
    const struct bench_machine *machine;
    double *late_us;             /* [n][STATES][sleeps] */
    double (*median_us)[STATES]; /* [n] */
};

static int idle_setup(struct bench_ctx *ctx)
{
    struct idle *s = ctx->state;
    double fit = ctx->budget_s / (STATES * mean_sleep_s);
    s->machine = ctx->machine;
    s->n = ctx->machine->ncpus;
    s->sleeps = (unsigned)fmin(fmax(fit, SLEEPS_LEAST), SLEEPS_MOST);
    s->late_us = bench_array(ctx, (size_t)s->n * STATES * s->sleeps, sizeof(*s->late_us));
    s->median_us = bench_array(ctx, s->n, sizeof(*s->median_us));
    return s->late_us && s->median_us ? team_open_all(&s->team, ctx) : -ENOMEM;
}

/* The length varies from 1 to 10 ms, so that the sleeps do not run in step with a system timer. */
static double late_us_of_sleep(unsigned index)
{
    uint64_t end_ns = clock_timer_ns() + 1000000 * (1 + (uint64_t)index * 7 % 10);
    clock_sleep_until(end_ns);
    return (double)((int64_t)clock_timer_ns() - (int64_t)end_ns) / 1e3;
}

static void sleep_in_state(struct idle *s, unsigned rank, unsigned state)
{
    double *late_us = s->late_us + ((size_t)rank * STATES + state) * s->sleeps;
    for (unsigned i = 0; i < s->sleeps; i++)
        late_us[i] = late_us_of_sleep(i);
    s->median_us[rank][state] = stats_sort_median(late_us, s->sleeps);
}

static void sleep_both_ways(void *arg, unsigned rank, unsigned n)
{
    struct idle *s = arg;
    struct awake awake;
    (void)n;
    (void)prctl(PR_SET_TIMERSLACK, 1);
    sleep_in_state(s, rank, 0);
    s->median_us[rank][1] = NAN;
    if (awake_start(&awake, s->machine->cpus[rank].os_cpu, NULL))
        return;
    sleep_in_state(s, rank, 1);
    awake_end(&awake);
}

static int idle_scan(struct bench_ctx *ctx)
{
    static const struct err refused = {.code = -ENOTSUP,
                                       .msg = "the system refuses a thread of policy SCHED_IDLE"};
    struct idle *s = ctx->state;
    (void)team_run(&s->team, NULL, s->n, sleep_both_ways, s);
    for (unsigned i = 0; i < s->n; i++) {
        const double *median_us = s->median_us[i];
        const struct dims at = DIMS({BY_CPU, ctx->machine->cpus[i].os_cpu});
        bench_emit(ctx, WAKEUP_LATE, median_us[0], dims_with(at, BY_STATE, STATE_IDLE));
        if (isnan(median_us[1]) && bench_emit_absent(ctx, IDLE_EXIT, &refused, at))
            continue;
        bench_emit(ctx, IDLE_EXIT, median_us[0] - median_us[1], at);
        bench_emit(ctx, WAKEUP_LATE, median_us[1], dims_with(at, BY_STATE, STATE_BUSY));
    }
    return 0;
}

const struct bench bench_idle_exit = {
    .name = "idle_exit",
    .summary = "how much longer an idle CPU takes to wake up than a busy one",
    .metrics = idle_metrics,
    .dims = idle_dims,
    .state_size = sizeof(struct idle),
    .setup = idle_setup,
    .scan = idle_scan,
};
