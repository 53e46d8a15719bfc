/*
 * Takes a share of each CPU's time: threads compute in pieces of about a scheduler slice whenever
 * their CPU time falls behind the share of the elapsed time.
 *
 * The account of a CPU is the CPU time of its threads, so the share holds regardless of the number
 * of other tasks and what they do. Beside n tasks, a fair scheduler gives one thread at most one of
 * n + 1 parts. So if the account falls behind by a second piece, the CPU's next thread joins, and
 * so on. The length of the pieces is random, so that they do not synchronize with the workers.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "bench/dose/dose.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"

enum {
    THREADS = 6, /* per CPU */
    STEPS = 4096 /* busy_run steps between clock reads: some 15 us */
};

/* 3 ms: a slice of EEVDF, and the smallest slice of CFS, on machines with few CPUs. */
static const double piece_ns = 3e6;
/* Limit of the debt: after a share was out of reach, the threads do not catch up on more than
 * this. */
static const double most_behind_ns = (THREADS + 2) * 3e6;
static const double longest_sleep_ns = 100e6; /* between checks whether to stop */

/* One per CPU. */
struct account {
    _Alignas(
        128) _Atomic uint64_t used_ns; /* used and claimed by its threads, and what was waived */
    uint64_t begin_ns;
};

struct aggressor_thread {
    _Alignas(128) uint64_t chains[BUSY_CHAINS];
    uint64_t steps;
    uint64_t accounted_ns; /* part of its CPU time that is in the account */
    clockid_t clock;       /* its CPU time; valid when started is set */
    _Atomic bool started;
};

struct cpu_dose {
    struct dose_team team;
    double share; /* of the time of each CPU */
    unsigned ncpus;
    struct account *accounts;         /* one per CPU */
    struct aggressor_thread *threads; /* THREADS per CPU */
    uint64_t held_ns, since_ns;       /* at the last call of hold */
};

/* How far the CPU's threads are behind; waives all above most_behind_ns. */
static double find_behind_ns(const struct cpu_dose *dose, struct account *account)
{
    double due = dose->share * (double)(clock_now_ns() - account->begin_ns);
    double behind_ns = due - (double)atomic_load(&account->used_ns);
    if (behind_ns > most_behind_ns) {
        (void)atomic_fetch_add(&account->used_ns, (uint64_t)(behind_ns - most_behind_ns));
        behind_ns = most_behind_ns;
    }
    return behind_ns;
}

/* Adds the thread's new CPU time to the account, including its reads of the account. */
static void add_to_account(struct account *account, struct aggressor_thread *self)
{
    uint64_t used_cpu_ns = clock_thread_cpu_ns();
    (void)atomic_fetch_add(&account->used_ns, used_cpu_ns - self->accounted_ns);
    self->accounted_ns = used_cpu_ns;
}

/* Uses this much CPU time, and claims it meanwhile, so that other threads do not take it, too. */
static void use_cpu(struct account *account, struct aggressor_thread *self, double claimed_ns)
{
    uint64_t begin_ns = self->accounted_ns;
    (void)atomic_fetch_add(&account->used_ns, (uint64_t)claimed_ns);
    do {
        busy_run(self->chains, STEPS);
        self->steps += STEPS;
    } while ((double)(clock_thread_cpu_ns() - begin_ns) < claimed_ns);
    add_to_account(account, self);
    (void)atomic_fetch_sub(&account->used_ns, (uint64_t)claimed_ns);
}

static void run_thread(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cpu_dose *dose = arg;
    struct account *account = &dose->accounts[rank / THREADS];
    struct aggressor_thread *self = &dose->threads[rank];
    double allowed_lag_ns = piece_ns * (1 + rank % THREADS);
    uint64_t random_state = rank;
    self->accounted_ns = clock_thread_cpu_ns();
    if (pthread_getcpuclockid(pthread_self(), &self->clock) == 0)
        atomic_store(&self->started, true);
    while (dose_team_runs(&dose->team)) {
        add_to_account(account, self);
        double behind_ns = find_behind_ns(dose, account);
        if (behind_ns >= allowed_lag_ns) {
            use_cpu(account, self, piece_ns * (0.5 + random_share(&random_state)));
            continue;
        }
        double sleep_ns = (allowed_lag_ns - behind_ns) / dose->share;
        sleep_ns = sleep_ns < longest_sleep_ns ? sleep_ns : longest_sleep_ns;
        clock_sleep_until(clock_timer_ns() + (uint64_t)sleep_ns);
    }
}

static uint64_t used_cpu_ns(const struct cpu_dose *dose)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < dose->ncpus * THREADS; i++)
        if (atomic_load(&dose->threads[i].started))
            sum += clock_read_ns(dose->threads[i].clock);
    return sum;
}

static double cpu_hold(struct bench_ctx *ctx)
{
    struct cpu_dose *dose = ctx->state;
    uint64_t used_ns = used_cpu_ns(dose), now_ns = clock_now_ns();
    double held =
        (double)(used_ns - dose->held_ns) / (double)(now_ns - dose->since_ns) / dose->ncpus;
    dose->held_ns = used_ns;
    dose->since_ns = now_ns;
    return held;
}

static int cpu_start(struct bench_ctx *ctx, double level)
{
    struct cpu_dose *dose = ctx->state;
    const struct bench_machine *machine = ctx->machine;
    unsigned n = machine->ncpus * THREADS;
    unsigned *os_cpus = bench_array(ctx, n, sizeof(*os_cpus));
    dose->ncpus = machine->ncpus;
    dose->share = level;
    dose->accounts = bench_array(ctx, dose->ncpus, sizeof(*dose->accounts));
    dose->threads = bench_array(ctx, n, sizeof(*dose->threads));
    if (!dose->accounts || !dose->threads || !os_cpus)
        return -ENOMEM;
    dose->since_ns = clock_now_ns();
    for (unsigned i = 0; i < dose->ncpus; i++)
        dose->accounts[i].begin_ns = dose->since_ns;
    for (unsigned i = 0; i < n; i++) {
        os_cpus[i] = machine->cpus[i / THREADS].os_cpu;
        busy_begin(dose->threads[i].chains, i);
    }
    return dose_team_start(&dose->team, ctx, os_cpus, n, run_thread, dose);
}

static int cpu_check(struct bench_ctx *ctx)
{
    struct cpu_dose *dose = ctx->state;
    dose_team_stop(&dose->team);
    for (unsigned i = 0; i < dose->ncpus * THREADS; i++)
        if (!busy_is_right(dose->threads[i].chains, i, dose->threads[i].steps))
            return err_set(ctx->err, -EBADMSG, "an aggressor of CPU %u computed something else",
                           ctx->machine->cpus[i / THREADS].os_cpu);
    return 0;
}

const struct dose_ops dose_cpu = {cpu_start, cpu_hold, cpu_check, sizeof(struct cpu_dose)};
