/*
 * Threads that take one lock in turn: how often together, how long each waits, and how evenly.
 *
 *   pthread   a mutex: tries, then sleeps in the kernel; a running thread may overtake the woken
 *   adaptive  the same, but spins for a while first (PTHREAD_MUTEX_ADAPTIVE_NP)
 *   pi        the same as pthread, but lends the holder its waiters' priority (PRIO_INHERIT)
 *   spin      never sleeps: test and test-and-set, with pause
 *   sharded   a pthread mutex and a counter for each thread; who wants the sum adds them up
 *
 * Decides: spin or sleep, whether to shard (`lock_rate` by lock), and how many threads to start
 * (`lock_threads`).
 *
 * **Measures** `lock_rate` = 1e-3 acquisitions / s of all threads (CLOCK_MONOTONIC_RAW).
 * `lock_wait_p99` us from the call until the lock is held, of a sample of the acquisitions of the
 * thread that waits longest. `lock_fairness` = (sum x)^2 / (n sum x^2) over the threads'
 * acquisitions x: 1 if all have as many, 1/n if one has all. `lock_threads`: the fewest threads
 * with 95% of the best lock_rate. Keys: lock, hold (us of work with the lock held), threads: 1, 2,
 * 4 .. two a CPU.
 * **Source** Jain, Chiu and Hawe 1984 (the index of fairness); will-it-scale's pthread_mutex1 is
 * lock=pthread, hold=0.
 * **Limits** Each thread is bound. Where two share a CPU, the scheduler stops some while they hold
 * the lock. Threads take the lock again at once, unless `outside` says otherwise. Work multiplies
 * (kernels/cpu/busy.h), for the stated time on an idle CPU.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/relax.h"

enum { COUNTS_MOST = 16, HOLDS = 3 };

static const uint64_t slice_least_ns = 5000000;

enum kind { PTHREAD, ADAPTIVE, PI, SPIN, SHARDED, KINDS };
/* The list begins with "all". */
static const char *const lock_names[] = {"all",  "pthread", "adaptive", "pi",
                                         "spin", "sharded", NULL};

struct mutex_params {
    double hold_us, outside_us;
    int64_t threads;
    int lock;
};

static const struct opt mutex_opts[] = {
    OPT_CHOICE("lock", mutex_params, lock, "all", lock_names, "LOCK", "which lock"),
    OPT_DOUBLE("hold", mutex_params, hold_us, "-1", -1, 1e5, "US",
               "work with the lock held, in us; -1 = 0, 1 and 10"),
    OPT_DOUBLE("outside", mutex_params, outside_us, "0", 0, 1e5, "US",
               "work of a thread between two times that it holds the lock, in us"),
    OPT_INT("threads", mutex_params, threads, "0", 0, 1024, "N",
            "how many threads; 0 = 1, 2, 4 .. two a CPU"),
    {.name = NULL},
};

enum { BY_LOCK = 1, BY_HOLD, BY_THREADS };
static const struct bench_dim mutex_dims[] = {
    [BY_LOCK] = {"lock", .labels = lock_names + 1},
    [BY_HOLD] = {"hold", .unit = "us held"},
    [BY_THREADS] = {"threads", .unit = "threads", .special = {1, "1 thread"}},
    {.name = NULL},
};

enum { THREADS, RATE, WAIT_P99, FAIRNESS };
static const struct bench_metric mutex_metrics[] = {
    [THREADS] = {"lock_threads", "threads", "none"},
    [RATE] = {"lock_rate", "kops/s", "higher", .gating = true},
    [WAIT_P99] = {"lock_wait_p99", "us", "lower"},
    [FAIRNESS] = {"lock_fairness", "ratio", "higher", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure mutex_figures[] = {
    {.name = "mutex",
     .kind = FIGURE_LINES,
     .metric = "lock_rate",
     .how = "Beyond all CPUs, two threads share one",
     .title = "acquisitions of one lock by all threads together",
     .x = {"threads (log scale)", BY_THREADS, .log = true},
     .y = {"acquisitions (thousand/s, log scale)", .log = true},
     .series = {BY_LOCK}},
    {.name = "mutex_wait",
     .kind = FIGURE_LINES,
     .metric = "lock_wait_p99",
     .how = "Of the thread that waits longest",
     .title = "99th percentile of the wait for one lock",
     .x = {"threads (log scale)", BY_THREADS, .log = true},
     .y = {"wait (log scale)", .log = true, .ticks = FIGURE_TICKS_US},
     .series = {BY_LOCK}},
    {.name = NULL},
};

static const double all_holds_us[HOLDS] = {0, 1, 10};

struct lock {
    _Alignas(128) pthread_mutex_t mutex;
    atomic_bool taken; /* of kind SPIN */
    uint64_t count;    /* what the lock protects */
};

struct contention {
    struct team team;
    unsigned ncounts, nholds, npoints, counts[COUNTS_MOST];
    double steps_per_us;
    uint64_t outside_steps, slice_ns;
    struct lock *locks; /* as many as threads */
    /* The current point. */
    enum kind kind;
    uint64_t hold_steps;
    unsigned sample; /* one acquisition in so many is timed */
    _Alignas(128) atomic_bool over;
    struct contender {
        _Alignas(128) uint64_t chains[BUSY_CHAINS];
        uint64_t count;
        struct times waits;
    } * contenders;
};

static int mutex_setup(struct bench_ctx *ctx)
{
    const struct mutex_params *params = ctx->params;
    struct contention *c = ctx->state;
    unsigned ncpus = ctx->machine->ncpus;
    c->ncounts = (unsigned)counts_doubled(2 * ncpus, c->counts, COUNTS_MOST);
    if (params->threads) {
        c->counts[0] = (unsigned)params->threads;
        c->ncounts = 1;
    }
    c->nholds = params->hold_us < 0 ? HOLDS : 1;
    c->npoints = (params->lock ? 1 : KINDS) * c->nholds * c->ncounts;
    c->slice_ns = points_share_ns(ctx, c->npoints, slice_least_ns);
    c->steps_per_us = busy_measure_speed();
    c->outside_steps = (uint64_t)(params->outside_us * c->steps_per_us);
    unsigned n = c->counts[c->ncounts - 1];
    c->locks = bench_array(ctx, n, sizeof(*c->locks));
    c->contenders = bench_array(ctx, n, sizeof(*c->contenders));
    unsigned *os_cpus = bench_array(ctx, n, sizeof(*os_cpus));
    if (!c->locks || !c->contenders || !os_cpus)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        os_cpus[i] = ctx->machine->cpus[i % ncpus].os_cpu;
    return team_open(&c->team, ctx, os_cpus, n);
}

static inline void take(struct lock *lock, bool spins)
{
    if (!spins)
        (void)pthread_mutex_lock(&lock->mutex);
    while (spins && atomic_exchange_explicit(&lock->taken, true, memory_order_acquire))
        while (atomic_load_explicit(&lock->taken, memory_order_relaxed))
            cpu_relax();
}

static inline void work(uint64_t *chains, uint64_t steps)
{
    if (steps)
        busy_run(chains, steps);
}

/* What a thread does once it has the lock, until it wants it again. */
static inline void use(struct lock *lock, bool spins, const struct contention *c, uint64_t *chains)
{
    work(chains, c->hold_steps);
    lock->count++;
    if (spins)
        atomic_store_explicit(&lock->taken, false, memory_order_release);
    else
        (void)pthread_mutex_unlock(&lock->mutex);
    work(chains, c->outside_steps);
}

/* Whoever sees that the time is over ends it for all: one who waits for the lock cannot look. */
static void contend(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    const struct bench_ctx *ctx = arg;
    struct contention *c = ctx->state;
    struct contender *self = &c->contenders[rank];
    struct lock *lock = &c->locks[c->kind == SHARDED ? rank : 0];
    const bool spins = c->kind == SPIN;
    uint64_t end_ns = clock_now_ns() + c->slice_ns;
    while (!atomic_load_explicit(&c->over, memory_order_relaxed)) {
        uint64_t start_ns = clock_now_ns();
        take(lock, spins);
        uint64_t now_ns = clock_now_ns();
        use(lock, spins, c, self->chains);
        unsigned done = 1;
        for (; done < c->sample && !atomic_load_explicit(&c->over, memory_order_relaxed); done++) {
            take(lock, spins);
            use(lock, spins, c, self->chains);
        }
        self->count += done;
        times_add(&self->waits, now_ns - start_ns);
        bench_progress(ctx, done);
        if (now_ns >= end_ns)
            atomic_store_explicit(&c->over, true, memory_order_relaxed);
    }
}

/* -ENOTSUP if the system has no such mutex. */
static int make_lock(struct lock *lock, enum kind kind, struct err *why)
{
    pthread_mutexattr_t attributes;
    *lock = (struct lock){.count = 0};
    (void)pthread_mutexattr_init(&attributes);
    if (kind == ADAPTIVE)
        (void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    if (kind == PI)
        (void)pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    int rc = -pthread_mutex_init(&lock->mutex, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    if (rc)
        (void)err_sys(why, rc, "needs a kernel with CONFIG_FUTEX_PI");
    return why->code = rc ? -ENOTSUP : 0;
}

/* Two threads that held a lock at once would have lost counts. */
static int emit_point(struct bench_ctx *ctx, unsigned n, double took_ns, struct dims at)
{
    const struct contention *c = ctx->state;
    double sum = 0, squares = 0, protected = 0, wait_ns = 0;
    for (unsigned rank = 0; rank < n; rank++) {
        double count = (double)c->contenders[rank].count;
        sum += count;
        squares += count * count;
        protected += (double)c->locks[rank].count;
        wait_ns = fmax(wait_ns, times_percentile(&c->contenders[rank].waits, 0.99));
    }
    bench_emit(ctx, RATE, sum * 1e6 / took_ns, at);
    bench_emit(ctx, WAIT_P99, wait_ns / 1e3, at);
    if (n > 1)
        bench_emit(ctx, FAIRNESS, sum * sum / (n * squares), at);
    return protected == sum ? 0 : err_set(ctx->err, -EBADMSG, "two threads held one lock at once");
}

static struct dims place_of(const struct bench_ctx *ctx, size_t point)
{
    const struct mutex_params *params = ctx->params;
    const struct contention *c = ctx->state;
    size_t kind = point / c->ncounts / c->nholds, hold = point / c->ncounts % c->nholds;
    return DIMS({BY_LOCK, params->lock ? params->lock - 1 : (double)kind},
                {BY_HOLD, c->nholds > 1 ? all_holds_us[hold] : params->hold_us},
                {BY_THREADS, c->counts[point % c->ncounts]});
}

static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct contention *c = ctx->state;
    const struct dims at = place_of(ctx, point);
    unsigned n = c->counts[point % c->ncounts];
    struct err absent = {0};
    c->kind = (enum kind)at.of[0].at;
    c->hold_steps = (uint64_t)(at.of[1].at * c->steps_per_us);
    c->sample = (unsigned)(1 + 127 / (1 + 20 * at.of[1].at));
    atomic_store(&c->over, false);
    for (unsigned rank = 0; rank < n && !absent.code; rank++) {
        c->contenders[rank] = (struct contender){.count = 0};
        (void)make_lock(&c->locks[rank], c->kind, &absent);
    }
    if (bench_emit_absent(ctx, RATE, &absent, at))
        return 0;
    uint64_t took_ns = team_run(&c->team, NULL, n, contend, ctx);
    for (unsigned rank = 0; rank < n; rank++)
        (void)pthread_mutex_destroy(&c->locks[rank].mutex);
    return emit_point(ctx, n, (double)took_ns, at);
}

static void emit_threads(struct bench_ctx *ctx, size_t point)
{
    const struct contention *c = ctx->state;
    const struct dims at = place_of(ctx, point);
    if (c->ncounts > 1 && point % c->ncounts == 0)
        points_emit_least(ctx, THREADS, RATE, &at, BY_THREADS);
}

static int mutex_scan(struct bench_ctx *ctx)
{
    const struct contention *c = ctx->state;
    return points_run(ctx, c->npoints, measure_point, emit_threads);
}

const struct bench bench_mutex = {
    .name = "mutex",
    .summary = "one lock among threads: sleep, spin or shard, and how many threads",
    .opts = mutex_opts,
    .params_size = sizeof(struct mutex_params),
    .metrics = mutex_metrics,
    .figures = mutex_figures,
    .dims = mutex_dims,
    .state_size = sizeof(struct contention),
    .setup = mutex_setup,
    .scan = mutex_scan,
};
