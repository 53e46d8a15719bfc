#include "bench/common/team.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/relax.h"

static void team_stop(struct team *team);

struct team_thread {
    _Alignas(128) _Atomic uint32_t turn; /* raised for each job; 128: two cache lines */
    struct team_shared *shared;
    pthread_t handle;
    unsigned os_cpu, rank;
    uint64_t start_ns, end_ns;
    int pinned; /* 0, or the -errno of pinning */
};

struct team_shared {
    /* Written before the threads' turns are raised. */
    team_job *job; /* NULL: end */
    void *arg;
    unsigned n;
    struct cpu_samples *cpu_samples;
    bool unpinned;
    _Alignas(128) _Atomic uint32_t arrived;
    _Alignas(128) _Atomic uint32_t left; /* threads still at work */
    _Alignas(128) _Atomic uint32_t done;
    struct team_thread threads[];
};

/* Other threads may run on the team's CPUs, too: after many spins, a thread yields. */
static void wait_for_all(struct team_shared *shared)
{
    enum { SPINS = 20000 };
    atomic_fetch_add(&shared->arrived, 1);
    for (unsigned spins = 0; atomic_load(&shared->arrived) < shared->n; spins++) {
        cpu_relax();
        if (spins > SPINS)
            (void)sched_yield();
    }
}

static int pin_self(unsigned os_cpu)
{
    cpu_set_t *set = CPU_ALLOC(BITSET_BITS);
    size_t size = CPU_ALLOC_SIZE(BITSET_BITS);
    if (!set)
        return -ENOMEM;
    CPU_ZERO_S(size, set);
    CPU_SET_S(os_cpu, size, set);
    int rc = sched_setaffinity(0, size, set) ? -errno : 0;
    CPU_FREE(set);
    return rc;
}

static void leave(struct team_shared *shared)
{
    if (atomic_fetch_sub(&shared->left, 1) == 1)
        futex_set(&shared->done, 1);
}

static void *thread_main(void *arg)
{
    struct team_thread *self = arg;
    struct team_shared *shared = self->shared;
    self->pinned = shared->unpinned ? 0 : pin_self(self->os_cpu);
    leave(shared);
    for (uint32_t turn = 0;; turn++) {
        futex_wait_while(&self->turn, turn);
        if (!shared->job)
            return NULL;
        cpu_samples_mark(shared->cpu_samples);
        wait_for_all(shared);
        self->start_ns = clock_now_ns();
        shared->job(shared->arg, self->rank, shared->n);
        self->end_ns = clock_now_ns();
        leave(shared);
    }
}

static void await(struct team_shared *shared)
{
    futex_wait_while(&shared->done, 0);
}

static int refused(struct team *team, struct err *err)
{
    for (unsigned i = 0; i < team->n; i++) {
        const struct team_thread *thread = &team->shared->threads[i];
        if (thread->pinned)
            return err_sys(err, thread->pinned, "cannot run on CPU %u", thread->os_cpu);
    }
    return 0;
}

static int start(struct team *team, const struct bench_ctx *ctx, const unsigned *os_cpus,
                 unsigned n, bool unpinned)
{
    size_t size = sizeof(struct team_shared) + n * sizeof(struct team_thread);
    size = (size + 127) / 128 * 128;
    struct team_shared *shared = aligned_alloc(128, size);
    *team = (struct team){.shared = shared};
    if (!shared)
        return err_set(ctx->err, -ENOMEM, "cannot allocate a team of %u threads", n);
    memset(shared, 0, size);
    shared->cpu_samples = ctx->cpu_samples;
    shared->unpinned = unpinned;
    atomic_store(&shared->left, n);
    int rc = 0;
    while (team->n < n && !rc) {
        struct team_thread *thread = &shared->threads[team->n];
        thread->shared = shared;
        if (!unpinned)
            thread->os_cpu = os_cpus ? os_cpus[team->n] : ctx->machine->cpus[team->n].os_cpu;
        rc = -pthread_create(&thread->handle, NULL, thread_main, thread);
        team->n += !rc;
    }
    if (rc) {
        (void)err_sys(ctx->err, rc, "cannot start thread %u of %u", team->n + 1, n);
        if (atomic_fetch_sub(&shared->left, n - team->n) == n - team->n)
            futex_set(&shared->done, 1);
    }
    await(shared);
    if (!rc)
        rc = refused(team, ctx->err);
    if (rc)
        team_stop(team);
    return rc;
}

/*
 * Starts one thread on each of os_cpus[0..n-1]; NULL: of the machine's CPUs. -errno, naming the CPU
 * that was refused (offline, or outside the allowed set). After a failure team_stop is allowed, not
 * needed.
 */
static int team_start(struct team *team, const struct bench_ctx *ctx, const unsigned *os_cpus,
                      unsigned n)
{
    return start(team, ctx, os_cpus, n, false);
}

static void stop(void *team)
{
    team_stop(team);
}

int team_open(struct team *team, struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n)
{
    int rc = start(team, ctx, os_cpus, n, false);
    return rc ? rc : bench_at_close(ctx, stop, team);
}

int team_open_unpinned(struct team *team, struct bench_ctx *ctx, unsigned n)
{
    int rc = start(team, ctx, NULL, n, true);
    return rc ? rc : bench_at_close(ctx, stop, team);
}

int team_open_all(struct team *team, struct bench_ctx *ctx)
{
    return team_open(team, ctx, NULL, ctx->machine->ncpus);
}

void team_begin(struct team *team, const unsigned *members, unsigned n, team_job *job, void *arg)
{
    struct team_shared *shared = team->shared;
    shared->job = job;
    shared->arg = arg;
    shared->n = n;
    atomic_store(&shared->arrived, 0);
    atomic_store(&shared->left, n);
    atomic_store(&shared->done, 0);
    for (unsigned rank = 0; rank < n; rank++) {
        struct team_thread *thread = &shared->threads[members ? members[rank] : rank];
        thread->rank = rank;
        futex_set(&thread->turn, atomic_load(&thread->turn) + 1);
    }
}

void team_end(struct team *team)
{
    await(team->shared);
}

uint64_t team_run(struct team *team, const unsigned *members, unsigned n, team_job *job, void *arg)
{
    struct team_shared *shared = team->shared;
    team_begin(team, members, n, job, arg);
    team_end(team);
    uint64_t start_ns = UINT64_MAX, end_ns = 0;
    for (unsigned rank = 0; rank < n; rank++) {
        const struct team_thread *thread = &shared->threads[members ? members[rank] : rank];
        start_ns = thread->start_ns < start_ns ? thread->start_ns : start_ns;
        end_ns = thread->end_ns > end_ns ? thread->end_ns : end_ns;
    }
    return end_ns - start_ns;
}

struct call {
    void (*call)(void *arg);
    void *arg;
};

static void call_alone(void *arg, unsigned rank, unsigned n)
{
    const struct call *alone = arg;
    (void)rank;
    (void)n;
    alone->call(alone->arg);
}

void team_call(struct team *team, unsigned member, void (*call)(void *arg), void *arg)
{
    struct call alone = {call, arg};
    (void)team_run(team, &member, 1, call_alone, &alone);
}

/* Ends and joins the threads; does nothing for a zeroed struct. */
static void team_stop(struct team *team)
{
    struct team_shared *shared = team->shared;
    if (!shared)
        return;
    shared->job = NULL;
    for (unsigned i = 0; i < team->n; i++)
        futex_set(&shared->threads[i].turn, atomic_load(&shared->threads[i].turn) + 1);
    for (unsigned i = 0; i < team->n; i++)
        (void)pthread_join(shared->threads[i].handle, NULL);
    free(shared);
    *team = (struct team){0};
}

struct team_part team_part_of(size_t count, size_t grain, unsigned rank, unsigned n)
{
    size_t grains = (count + grain - 1) / grain;
    size_t begin = grains * rank / n * grain, end = grains * (rank + 1) / n * grain;
    return (struct team_part){begin < count ? begin : count, end < count ? end : count};
}

enum { BURST = 2048 }; /* steps between checks of `stop`: microseconds */

static const uint64_t start_limit_ns = 5000000000;

struct busy_thread {
    _Alignas(128) uint64_t chains[BUSY_CHAINS];
    uint64_t steps;
    uint64_t cpu_ns, wall_ns;    /* sums over all starts */
    _Atomic unsigned generation; /* the last start in which it ran */
};

struct busy_team_state {
    struct team team;
    bool running;
    unsigned generation;
    const struct bench_machine *machine;
    _Alignas(128) _Atomic bool stop;
    struct busy_thread threads[];
};

int busy_team_open(struct busy_team *busy, const struct bench_ctx *ctx)
{
    unsigned n = ctx->machine->ncpus;
    size_t size = sizeof(struct busy_team_state) + n * sizeof(struct busy_thread);
    size = (size + 127) / 128 * 128;
    struct busy_team_state *state = aligned_alloc(128, size);
    busy->state = state;
    if (!state)
        return err_set(ctx->err, -ENOMEM, "cannot allocate %u threads' state", n);
    memset(state, 0, size);
    state->machine = ctx->machine;
    for (unsigned i = 0; i < n; i++)
        busy_begin(state->threads[i].chains, (uint64_t)i * BUSY_CHAINS);
    return team_start(&state->team, ctx, NULL, n);
}

static void compute(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct busy_team_state *state = arg;
    struct busy_thread *self = &state->threads[rank];
    uint64_t cpu_ns = clock_thread_cpu_ns(), wall_ns = clock_now_ns();
    do {
        busy_run(self->chains, BURST);
        self->steps += BURST;
        atomic_store_explicit(&self->generation, state->generation, memory_order_relaxed);
    } while (!atomic_load_explicit(&state->stop, memory_order_relaxed));
    self->cpu_ns += clock_thread_cpu_ns() - cpu_ns;
    self->wall_ns += clock_now_ns() - wall_ns;
}

static bool has_started(const struct busy_team_state *state, unsigned thread)
{
    return atomic_load(&state->threads[thread].generation) == state->generation;
}

int busy_team_start(struct busy_team *busy, struct err *err)
{
    struct busy_team_state *state = busy->state;
    const struct timespec nap = {.tv_nsec = 100000};
    atomic_store(&state->stop, false);
    state->generation++;
    team_begin(&state->team, NULL, state->team.n, compute, state);
    state->running = true;
    uint64_t end_ns = clock_now_ns() + start_limit_ns;
    for (unsigned i = 0; i < state->team.n; i++)
        while (!has_started(state, i)) {
            if (clock_now_ns() > end_ns) {
                busy_team_end(busy);
                return err_set(err, -ETIMEDOUT, "the load on CPU %u did not get to run",
                               state->machine->cpus[i].os_cpu);
            }
            (void)nanosleep(&nap, NULL);
        }
    return 0;
}

void busy_team_end(struct busy_team *busy)
{
    struct busy_team_state *state = busy->state;
    if (!state || !state->running)
        return;
    atomic_store(&state->stop, true);
    team_end(&state->team);
    state->running = false;
}

double busy_team_share(const struct busy_team *busy)
{
    double cpu_ns = 0, wall_ns = 0;
    for (unsigned i = 0; busy->state && i < busy->state->team.n; i++) {
        cpu_ns += (double)busy->state->threads[i].cpu_ns;
        wall_ns += (double)busy->state->threads[i].wall_ns;
    }
    return wall_ns > 0 ? cpu_ns / wall_ns : (double)NAN;
}

int busy_team_check(const struct busy_team *busy, struct err *err)
{
    const struct busy_team_state *state = busy->state;
    for (unsigned i = 0; i < state->team.n; i++)
        if (!busy_is_right(state->threads[i].chains, (uint64_t)i * BUSY_CHAINS,
                           state->threads[i].steps))
            return err_set(err, -EBADMSG, "the load on CPU %u computed a wrong number",
                           state->machine->cpus[i].os_cpu);
    return 0;
}

void busy_team_close(struct busy_team *busy)
{
    struct busy_team_state *state = busy->state;
    if (!state)
        return;
    busy_team_end(busy);
    team_stop(&state->team);
    free(state);
    busy->state = NULL;
}

/*
 * CPU time, since other programs may run on the CPU at times. The best of several calibrations is
 * the least disturbed: the clock has had time to rise, and some run without a load on the SMT
 * sibling and without another virtual machine on the CPU.
 */
double busy_measure_speed(void)
{
    enum { CALIBRATIONS = 64, STEPS = 1 << 18 /* a millisecond */ };
    uint64_t chains[BUSY_CHAINS] = {0};
    double best = 0;
    for (unsigned i = 0; i < CALIBRATIONS; i++) {
        uint64_t start_ns = clock_thread_cpu_ns();
        busy_run(chains, STEPS);
        double took_us = 1e-3 * (double)(clock_thread_cpu_ns() - start_ns);
        best = fmax(best, took_us > 0 ? STEPS / took_us : 0);
    }
    return best;
}
