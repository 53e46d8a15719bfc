#include "bench/common/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/futex.h"
#include "kernels/cpu/relax.h"

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

int team_start(struct team *team, const struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n)
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

void team_stop(struct team *team)
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
