/*
 * Threads that take one lock in turn, each on a CPU of its own, and two on each, with work inside
 * the lock and outside: how often they get it together, and how evenly.
 *
 * - normal: a pthread mutex tries, then sleeps in the kernel; who runs may take it before the woken
 * - adaptive: the same, but it spins for a while first (PTHREAD_MUTEX_ADAPTIVE_NP)
 * - spin: test and test-and-set, for whoever sees it free first
 * - ticket: in the order of arrival, spinning
 * - futex: three states and a wake-up of one (Drepper, "Futexes are tricky", 2011)
 *
 * **Measures** `lock_rate` = 1e-6 acquisitions / s of all threads together on CLOCK_MONOTONIC_RAW;
 * `lock_fairness` = (sum x)^2 / (n sum x^2) over the threads' acquisitions x in a slice, 1 where
 * all have as many, 1/n where one has all (Jain, Chiu and Hawe 1984). Keys: lock, threads: 1, 2, 4
 * and so on, all CPUs, and two a CPU. `pair_rate` and `pair_fairness`: the same of two threads, on
 * the first CPU and on one as near to it as the key `to` says (near.h). Work is steps of
 * kernels/cpu/busy.h, some 2 to 4 ns each: those inside are on shared data that the lock alone
 * protects, which is looked at behind each slice.
 * **Source** Mellor-Crummey and Scott 1991 (ticket); will-it-scale's pthread_mutex tests contend
 * alike.
 * **Limits** Up to all CPUs each thread has one. Where another process takes it, or two threads
 * have one, all may wait for who has the lock and does not run. Threads sit on the first CPUs in
 * the order of the topology, siblings of a core among them.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/cpu_pair.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/relax.h"

enum { COUNTS_MOST = 16, OPS_A_LOOK = 16, OVER = 2 };

static const uint64_t slice_least_ns = 1000000;

/* One at a time is in use; its parts are on lines of their own. */
struct lock {
    _Alignas(128) pthread_mutex_t mutex;
    _Alignas(
        128) _Atomic uint32_t word; /* spin: taken; futex: 0 free, 1 taken, 2 somebody sleeps */
    _Alignas(128) _Atomic uint32_t next;
    _Alignas(128) _Atomic uint32_t serving;
};

static void mutex_take(struct lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

static void mutex_give(struct lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

static void spin_take(struct lock *lock)
{
    while (atomic_exchange_explicit(&lock->word, 1, memory_order_acquire))
        while (atomic_load_explicit(&lock->word, memory_order_relaxed))
            cpu_relax();
}

static void spin_give(struct lock *lock)
{
    atomic_store_explicit(&lock->word, 0, memory_order_release);
}

static void ticket_take(struct lock *lock)
{
    uint32_t mine = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine)
        cpu_relax();
}

static void ticket_give(struct lock *lock)
{
    uint32_t served = atomic_load_explicit(&lock->serving, memory_order_relaxed);
    atomic_store_explicit(&lock->serving, served + 1, memory_order_release);
}

static void futex_take(struct lock *lock)
{
    uint32_t was = 0;
    if (atomic_compare_exchange_strong(&lock->word, &was, 1))
        return;
    if (was != 2)
        was = atomic_exchange(&lock->word, 2);
    while (was) {
        (void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        was = atomic_exchange(&lock->word, 2);
    }
}

static void futex_give(struct lock *lock)
{
    if (atomic_exchange(&lock->word, 0) == 2)
        (void)syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

enum { LOCKS = 5 };
static const struct {
    int mutex_type;
    void (*take)(struct lock *lock);
    void (*give)(struct lock *lock);
} locks[LOCKS] = {
    {PTHREAD_MUTEX_NORMAL, mutex_take, mutex_give},
    {PTHREAD_MUTEX_ADAPTIVE_NP, mutex_take, mutex_give},
    {PTHREAD_MUTEX_NORMAL, spin_take, spin_give},
    {PTHREAD_MUTEX_NORMAL, ticket_take, ticket_give},
    {PTHREAD_MUTEX_NORMAL, futex_take, futex_give},
};

/* "all" and then those above. */
static const char *const lock_names[] = {"all",    "normal", "adaptive", "spin",
                                         "ticket", "futex",  NULL};

struct mutex_params {
    int64_t inside, outside;
    int lock;
};

static const struct opt mutex_opts[] = {
    OPT_INT("inside", mutex_params, inside, "20", 0, 1000000, "STEPS",
            "work while the lock is held, some ns a step"),
    OPT_INT("outside", mutex_params, outside, "20", 0, 1000000, "STEPS",
            "work between two times that a thread takes it"),
    OPT_CHOICE("lock", mutex_params, lock, "all", lock_names, "LOCK", "only this one"),
    {.name = NULL},
};

enum { BY_LOCK = 1, BY_THREADS, BY_TO };
static const struct bench_dim mutex_dims[] = {
    [BY_LOCK] = {"lock", .labels = lock_names + 1},
    [BY_THREADS] = {"threads"},
    [BY_TO] = {"to", .labels = near_names + 1,
               .said = LABELS("threads of one core", "same cache", "another cache",
                              "another NUMA node")},
    {.name = NULL},
};

enum { RATE, FAIRNESS, PAIR_RATE, PAIR_FAIRNESS };
static const struct bench_metric mutex_metrics[] = {
    [RATE] = {"lock_rate", "Mops/s", "higher", .gating = true},
    [FAIRNESS] = {"lock_fairness", "ratio", "higher"},
    [PAIR_RATE] = {"pair_rate", "Mops/s", "higher", .gating = true},
    [PAIR_FAIRNESS] = {"pair_fairness", "ratio", "higher"},
    {.name = NULL},
};

static const struct bench_figure mutex_figures[] = {
    {.name = "lock_rate",
     .kind = FIGURE_LINES,
     .metric = "lock_rate",
     .title = "acquisitions of one lock by all threads together",
     .how = "With work inside the lock and outside. The last has two threads a CPU",
     .x = {"threads (log scale)", BY_THREADS, .log = true},
     .y = {"acquisitions (million/s)"},
     .series = {BY_LOCK}},
    {.name = "lock_fairness",
     .kind = FIGURE_LINES,
     .metric = "lock_fairness",
     .title = "how evenly threads get one lock",
     .how = "Fairness index of Jain: 1: all get it as often, 1/threads: one has it alone",
     .x = {"threads (log scale)", BY_THREADS, .log = true},
     .y = {"fairness (ratio)"},
     .series = {BY_LOCK}},
    {.name = "lock_pairs",
     .kind = FIGURE_BARS,
     .metric = "pair_rate",
     .title = "acquisitions of one lock by two threads, by the distance of their CPUs",
     .how = "Both together, with work inside the lock and outside",
     .x = {"lock", BY_LOCK},
     .y = {"acquisitions (million/s)"},
     .series = {BY_TO}},
    {.name = NULL},
};
/* Who contends: the first so many of the team, or two of it. */
struct crowd {
    unsigned n;
    bool is_pair;
    enum near near;
    unsigned members[2]; /* of a pair */
};

struct contention {
    struct team team;
    unsigned ncpus, ncrowds;
    struct crowd crowds[COUNTS_MOST + NEARS];
    struct err absent[NEARS]; /* code 0: there is such a pair */
    unsigned first, nlocks;   /* those that are asked for */
    uint64_t inside, outside, slice_ns, seed;
    /* The current slice. */
    unsigned kind;
    struct lock lock;
    _Alignas(128) uint64_t shared[BUSY_CHAINS];
    uint64_t taken; /* counted inside */
    _Alignas(128) atomic_bool over;
    struct contender {
        _Alignas(128) uint64_t own[BUSY_CHAINS];
        uint64_t taken;
    } * contenders; /* [OVER * ncpus] */
};

/* The first so many have a CPU each, the others share those. */
static int start_team(struct contention *c, struct bench_ctx *ctx)
{
    unsigned n = OVER * c->ncpus;
    unsigned *os_cpus = malloc(n * sizeof(*os_cpus));
    if (!os_cpus)
        return err_set(ctx->err, -ENOMEM, "cannot allocate a list of %u CPUs", n);
    for (unsigned i = 0; i < n; i++)
        os_cpus[i] = ctx->machine->cpus[i % c->ncpus].os_cpu;
    int rc = team_open(&c->team, ctx, os_cpus, n);
    free(os_cpus);
    return rc;
}

static void list_crowds(struct contention *c, const struct bench_machine *machine)
{
    unsigned counts[COUNTS_MOST], other;
    unsigned ncounts = (unsigned)counts_doubled(c->ncpus, counts, COUNTS_MOST - 1);
    counts[ncounts++] = OVER * c->ncpus;
    for (unsigned i = 0; i < ncounts; i++)
        c->crowds[c->ncrowds++] = (struct crowd){.n = counts[i]};
    for (int near = 0; near < NEARS; near++)
        if (!near_find(machine, (enum near)near, &other, &c->absent[near]))
            c->crowds[c->ncrowds++] = (struct crowd){
                .n = 2, .is_pair = true, .near = (enum near)near, .members = {0, other}};
}

static int mutex_setup(struct bench_ctx *ctx)
{
    const struct mutex_params *params = ctx->params;
    unsigned n = ctx->machine->ncpus;
    struct contention *c = ctx->state;
    c->ncpus = n;
    list_crowds(c, ctx->machine);
    c->first = params->lock ? (unsigned)params->lock - 1 : 0;
    c->nlocks = params->lock ? 1 : LOCKS;
    c->inside = (uint64_t)params->inside;
    c->outside = (uint64_t)params->outside;
    c->seed = ctx->round_seed;
    c->slice_ns = points_share_ns(ctx, (size_t)c->ncrowds * c->nlocks, slice_least_ns);
    c->contenders = bench_array(ctx, (size_t)OVER * n, sizeof(*c->contenders));
    return c->contenders ? start_team(c, ctx) : -ENOMEM;
}

/* Whoever sees that the time is over ends it for all: one who gets no lock cannot look. */
static void contend_for(void *arg, unsigned rank, unsigned n)
{
    struct contention *c = arg;
    struct contender *self = &c->contenders[rank];
    void (*take)(struct lock * lock) = locks[c->kind].take;
    void (*give)(struct lock * lock) = locks[c->kind].give;
    uint64_t end_ns = clock_now_ns() + c->slice_ns;
    /* Where threads share CPUs, each turn may be a switch. */
    unsigned look = n > c->ncpus ? 1 : OPS_A_LOOK;
    for (self->taken = 0; !atomic_load_explicit(&c->over, memory_order_relaxed);) {
        take(&c->lock);
        busy_run(c->shared, c->inside);
        c->taken++;
        give(&c->lock);
        busy_run(self->own, c->outside);
        if (++self->taken % look == 0 && clock_now_ns() >= end_ns)
            atomic_store(&c->over, true);
    }
}

static int make_lock(struct contention *c, struct err *err)
{
    pthread_mutexattr_t attributes;
    c->lock = (struct lock){.word = 0};
    int rc = -pthread_mutexattr_init(&attributes);
    if (rc)
        return err_sys(err, rc, "cannot make a mutex");
    rc = -pthread_mutexattr_settype(&attributes, locks[c->kind].mutex_type);
    if (!rc)
        rc = -pthread_mutex_init(&c->lock.mutex, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    return rc ? err_sys(err, rc, "cannot make a mutex") : 0;
}

/* Two threads inside at once would have lost steps of the chains, or counts. */
static bool lock_held(const struct contention *c, unsigned n)
{
    uint64_t taken = 0;
    for (unsigned rank = 0; rank < n; rank++)
        taken += c->contenders[rank].taken;
    return taken == c->taken && busy_came(c->shared, c->seed, taken * c->inside);
}

static double fairness_of(const struct contention *c, unsigned n)
{
    double sum = 0, squares = 0;
    for (unsigned rank = 0; rank < n; rank++) {
        double taken = (double)c->contenders[rank].taken;
        sum += taken;
        squares += taken * taken;
    }
    return sum * sum / (n * squares);
}

static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct contention *c = ctx->state;
    const struct crowd *crowd = &c->crowds[point % c->ncrowds];
    unsigned n = crowd->n;
    c->kind = c->first + (unsigned)(point / c->ncrowds);
    int rc = make_lock(c, ctx->err);
    if (rc)
        return rc;
    busy_begin(c->shared, c->seed);
    c->taken = 0;
    atomic_store(&c->over, false);
    uint64_t took_ns =
        team_run(&c->team, crowd->is_pair ? crowd->members : NULL, n, contend_for, c);
    (void)pthread_mutex_destroy(&c->lock.mutex);
    const struct dims at = crowd->is_pair ? DIMS({BY_LOCK, c->kind}, {BY_TO, crowd->near})
                                          : DIMS({BY_LOCK, c->kind}, {BY_THREADS, n});
    bench_emit(ctx, crowd->is_pair ? PAIR_RATE : RATE, (double)c->taken * 1e3 / (double)took_ns,
               at);
    if (n > 1)
        bench_emit(ctx, crowd->is_pair ? PAIR_FAIRNESS : FAIRNESS, fairness_of(c, n), at);
    return lock_held(c, n) ? 0
                           : err_set(ctx->err, -EBADMSG, "two threads had the lock '%s' at once",
                                     lock_names[c->kind + 1]);
}

static int mutex_scan(struct bench_ctx *ctx)
{
    const struct contention *c = ctx->state;
    int rc = points_run(ctx, (size_t)c->nlocks * c->ncrowds, measure_point, NULL);
    for (int near = 0; near < NEARS && !rc; near++)
        (void)bench_emit_absent(ctx, PAIR_RATE, &c->absent[near], DIMS({BY_TO, near}));
    return rc;
}

const struct bench bench_mutex = {
    .name = "mutex",
    .summary = "throughput and fairness of one lock among threads: mutexes, spinning, in order",
    .opts = mutex_opts,
    .params_size = sizeof(struct mutex_params),
    .metrics = mutex_metrics,
    .figures = mutex_figures,
    .dims = mutex_dims,
    .state_size = sizeof(struct contention),
    .setup = mutex_setup,
    .scan = mutex_scan,
};
