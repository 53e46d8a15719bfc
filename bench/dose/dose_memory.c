#include "bench/dose/dose_memory.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/cpu/thrash_fight.h"
#include "bench/dose/dose.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/mix64.h"
#include "kernels/cpu/stream.h"

static const double most_share = 0.9; /* the rest shows the speed without aggressors */
static const double few_share = 0.2, enough_share = 0.7;
static const double gain = 0.1; /* per step, on the share of the time */
static const double most_trim = 0.3;

/* The speed relative to `resting` that `active` aggressors should reach if they press always. */
static double memory_loop_enough(double target)
{
    return 1 - (1 - target) / enough_share;
}

/* The next larger number of aggressors to try, of at most `most`. */
static unsigned memory_loop_more(unsigned active, unsigned most)
{
    return 2 * active < most ? 2 * active : most;
}

/* For another number of aggressors, whose effect on the probe is not known yet. */
static void set_active(struct memory_loop *loop, unsigned active)
{
    loop->active = active;
    loop->share = enough_share / 2;
    loop->pressing = NAN;
    loop->trim = 0;
}

/* speed = 1 - share (1 - pressing / resting); what is left of the difference goes to the trim. */
static void memory_loop_set_share(struct memory_loop *loop, double held)
{
    if (loop->target >= 1) {
        loop->share = 0;
        return;
    }
    if (isnan(loop->pressing) || isnan(loop->resting)) {
        loop->share = enough_share / 2;
        return;
    }
    const double cost = fmax(0.01, 1 - loop->pressing / loop->resting);
    if (!isnan(held))
        loop->trim =
            fmin(most_trim, fmax(-most_trim, loop->trim + gain * (held - loop->target) / cost));
    const double share = (1 - loop->target) / cost + loop->trim;
    if (share > most_share && loop->active < loop->most)
        set_active(loop, memory_loop_more(loop->active, loop->most));
    else if (share < few_share && loop->active > 1)
        set_active(loop, loop->active / 2);
    else
        loop->share = fmax(0, fmin(share, most_share));
}

void memory_loop_init(struct memory_loop *loop, double target, unsigned most, unsigned active,
                      double resting, double pressing)
{
    *loop = (struct memory_loop){
        .target = target, .most = most, .active = active, .resting = resting, .pressing = pressing};
    memory_loop_set_share(loop, NAN);
}

double memory_loop_step(struct memory_loop *loop, const struct probe_speeds *step)
{
    /* Not means of several steps: they lag when workers begin or end their traffic. */
    if (!isnan(step->resting))
        loop->resting = step->resting;
    if (!isnan(step->pressing))
        loop->pressing = step->pressing;
    const double held = step->all / loop->resting;
    memory_loop_set_share(loop, held);
    return held;
}

/*
 * Memory bandwidth, latency, or the last-level cache, as seen by a probe on a CPU of its own.
 * Aggressors on the other CPUs press for a share of each period, so that the probe's speed over all
 * time is the target. For the cache, the probe reads half of it again and again: lines that the
 * aggressors evicted come from memory. Periods are then long enough to refill the cache.
 *
 * The probe never pauses. Its speeds while the aggressors press and while they rest have a ratio,
 * which gives the share of time (dose_memory.h). Both are measured beside the workers, again and
 * again, so the workers' cost to the probe cancels.
 *
 * How aggressors press is chosen on this machine: sequential or random lines
 * (bench/cpu/thrash_fight.h), whichever slows the probe more, on as few CPUs as suffice. If
 * they are too few for the level, more of them press. The place of pressing within a period is
 * random, so that it does not synchronize with the workers.
 */

enum {
    READ = 4096, /* doubles per read of the probe: 32 KiB, some 3 us */
    LOADS = 4 * CHASE_STEP
};

static const uint64_t least_period_ns = 10000000;
static const uint64_t longest_piece_ns =
    1000000; /* limit of a piece: in a longer one another task ran */
static const uint64_t least_guard_ns = 100000; /* after a change: queues fill and drain */
static const uint64_t periods_of_guard = 10;
static const double refill_bytes_ns = 5;      /* refill of a cache from memory: slow, by one CPU */
static const uint64_t measure_ns = 60000000;  /* at one setting, before workers run */
static const size_t area_most = 256ull << 20; /* per area; its pages are touched in each round */
static const double least_read_ns = 1000000;  /* of a phase, for its speed */

/* Work of the probe. */
struct probe_work {
    double units, ns;
};

struct memory_dose {
    struct dose_team team;
    bool latency;
    uint64_t period_ns, guard_ns;
    struct memory_loop loop;
    unsigned n; /* aggressors */
    struct aggressor *aggressors;
    struct aggressor_sizes sizes;
    _Atomic enum aggressor_kind kind;
    struct memory_block area; /* of the probe */
    struct chase_line *at;
    size_t position;

    _Atomic unsigned ready;       /* aggressors with filled memory */
    _Atomic unsigned active;      /* number of active aggressors, the first ones */
    _Atomic uint64_t pressing_ns; /* pressing time of each period */
    _Alignas(128) _Atomic uint64_t units[3], spent_ns[3]; /* by enum phase; written by the probe */
    struct probe_work last_read[3];                       /* as of the last read_speed */
};

enum phase { RESTING, PRESSING, ALWAYS };

/* Start of pressing within the period of `ns`. */
static uint64_t begin_of(uint64_t ns, uint64_t period_ns, uint64_t pressing_ns)
{
    uint64_t index = ns / period_ns;
    return index * period_ns +
           (pressing_ns < period_ns ? mix64(index) % (period_ns - pressing_ns) : 0);
}

static bool is_pressing(const struct memory_dose *dose, uint64_t ns, uint64_t pressing_ns)
{
    uint64_t begin_ns = begin_of(ns, dose->period_ns, pressing_ns);
    return ns >= begin_ns && ns < begin_ns + pressing_ns;
}

/* What the aggressors did during all of `from_ns` to `to_ns`; ALWAYS: some of both. */
static enum phase find_phase(const struct memory_dose *dose, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t pressing_ns = atomic_load_explicit(&dose->pressing_ns, memory_order_relaxed);
    bool pressing = is_pressing(dose, to_ns, pressing_ns);
    bool all = is_pressing(dose, from_ns, pressing_ns) == pressing &&
               is_pressing(dose, from_ns - dose->guard_ns, pressing_ns) == pressing;
    return !all ? ALWAYS : pressing ? PRESSING : RESTING;
}

static void run_aggressor(struct memory_dose *dose, unsigned rank)
{
    struct aggressor *self = &dose->aggressors[rank];
    const uint64_t nap_ns = 2000000;
    aggressor_fill(self, &dose->sizes);
    (void)atomic_fetch_add(&dose->ready, 1);
    while (dose_team_runs(&dose->team)) {
        if (rank >= atomic_load_explicit(&dose->active, memory_order_relaxed))
            clock_sleep_until(clock_timer_ns() + nap_ns);
        else if (is_pressing(dose, clock_now_ns(),
                             atomic_load_explicit(&dose->pressing_ns, memory_order_relaxed)))
            aggressor_touch(self, atomic_load_explicit(&dose->kind, memory_order_relaxed));
        else
            aggressor_idle(self);
    }
    aggressor_sum(self);
}

/* Does one piece of the probe's work; returns its units: bytes, or loads. */
static double probe_once(struct memory_dose *dose)
{
    const double *area = dose->area.base;
    if (dose->latency) {
        dose->at = chase_walk(dose->at, LOADS);
        return LOADS;
    }
    const struct stream_args args = {.x = area + dose->position, .n = READ};
    (void)stream_isa_best()->kernel[STREAM_READ][STREAM_PLAIN](&args);
    dose->position += READ;
    if ((dose->position + READ) * sizeof(double) > dose->area.bytes)
        dose->position = 0;
    return READ * sizeof(double);
}

/* Called only by the probe, so load and store suffice. */
static void count(struct memory_dose *dose, enum phase phase, double units, uint64_t ns)
{
    uint64_t done = atomic_load_explicit(&dose->units[phase], memory_order_relaxed);
    uint64_t spent = atomic_load_explicit(&dose->spent_ns[phase], memory_order_relaxed);
    atomic_store_explicit(&dose->units[phase], done + (uint64_t)units, memory_order_relaxed);
    atomic_store_explicit(&dose->spent_ns[phase], spent + ns, memory_order_relaxed);
}

static void probe(struct memory_dose *dose)
{
    uint64_t from_ns = clock_now_ns();
    while (dose_team_runs(&dose->team)) {
        double units = probe_once(dose);
        uint64_t to_ns = clock_now_ns();
        enum phase phase = find_phase(dose, from_ns, to_ns);
        bool counts = to_ns - from_ns < longest_piece_ns;
        if (counts)
            count(dose, ALWAYS, units, to_ns - from_ns);
        if (counts && phase != ALWAYS)
            count(dose, phase, units, to_ns - from_ns);
        from_ns = to_ns;
    }
}

static void run_thread(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    if (rank)
        run_aggressor(arg, rank - 1);
    else
        probe(arg);
}

/* Units per ns since the last call; NaN = less than least_read_ns. */
static double read_speed(struct memory_dose *dose, enum phase phase)
{
    struct probe_work *last_read = &dose->last_read[phase];
    const struct probe_work now = {(double)atomic_load(&dose->units[phase]),
                                   (double)atomic_load(&dose->spent_ns[phase])};
    double units = now.units - last_read->units, ns = now.ns - last_read->ns;
    *last_read = now;
    return ns > least_read_ns ? units / ns : (double)NAN;
}

static void set_share(struct memory_dose *dose, unsigned active, double share)
{
    atomic_store(&dose->active, active);
    atomic_store(&dose->pressing_ns, (uint64_t)(share * (double)dose->period_ns));
}

/* The probe's speed over measure_ns while `active` aggressors press for the share of the time. */
static double measure_speed(struct memory_dose *dose, unsigned active, double share)
{
    set_share(dose, active, share);
    clock_sleep_until(clock_timer_ns() + measure_ns / 4);
    (void)read_speed(dose, ALWAYS);
    clock_sleep_until(clock_timer_ns() + measure_ns);
    return read_speed(dose, ALWAYS);
}

/* Chooses the kind that slows the probe more, then as few aggressors as reach the target while
 * pressing for enough_share. */
static void choose_aggressors(struct memory_dose *dose, double target)
{
    double rest = measure_speed(dose, 0, 0), least = INFINITY;
    enum aggressor_kind worst = AGGRESSOR_STREAM;
    for (enum aggressor_kind kind = AGGRESSOR_STREAM; kind <= AGGRESSOR_RANDOM; kind++) {
        atomic_store(&dose->kind, kind);
        double speed = measure_speed(dose, dose->n, 1);
        worst = speed < least ? kind : worst;
        least = fmin(least, speed);
    }
    atomic_store(&dose->kind, worst);
    unsigned active = 1;
    double speed = measure_speed(dose, active, 1);
    while (active < dose->n && speed > memory_loop_enough(target) * rest) {
        active = memory_loop_more(active, dose->n);
        speed = measure_speed(dose, active, 1);
    }
    memory_loop_init(&dose->loop, target, dose->n, active, rest, speed);
}

static double memory_hold(struct bench_ctx *ctx)
{
    struct memory_dose *dose = ctx->state;
    const struct probe_speeds step = {.all = read_speed(dose, ALWAYS),
                                      .resting = read_speed(dose, RESTING),
                                      .pressing = read_speed(dose, PRESSING)};
    double held = memory_loop_step(&dose->loop, &step);
    set_share(dose, dose->loop.active, dose->loop.share);
    return dose->latency ? 1 / held : held;
}

/* Waits until all aggressors have filled their memory, which disturbs the probe; then
 * calibrates. */
static void begin(struct memory_dose *dose, double target)
{
    while (atomic_load(&dose->ready) < dose->n)
        clock_sleep_until(clock_timer_ns() + measure_ns / 16);
    choose_aggressors(dose, target);
    set_share(dose, dose->loop.active, dose->loop.share);
    for (enum phase phase = RESTING; phase <= ALWAYS; phase++)
        (void)read_speed(dose, phase);
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* After each change the probe refills a cache of so many bytes; 0: it reads from memory. */
static void set_times(struct memory_dose *dose, size_t cached_bytes)
{
    dose->guard_ns = most_of(least_guard_ns, (uint64_t)((double)cached_bytes / refill_bytes_ns));
    dose->period_ns = most_of(least_period_ns, periods_of_guard * dose->guard_ns);
}

static int open_memory(struct bench_ctx *ctx)
{
    struct memory_dose *dose = ctx->state;
    const struct dose *params = ctx->params;
    uint64_t llc = memory_llc_bytes(ctx->machine);
    dose->sizes = aggressor_choose_sizes(ctx->machine, llc, dose->n + 1);
    if (dose->sizes.area_bytes > area_most)
        dose->sizes.area_bytes = area_most;
    dose->aggressors = bench_array(ctx, dose->n, sizeof(*dose->aggressors));
    int rc = dose->aggressors ? 0 : -ENOMEM;
    for (unsigned i = 0; i < dose->n && !rc; i++) {
        rc = aggressor_map(&dose->aggressors[i], &dose->sizes, ctx->err);
        if (!rc)
            rc = memory_unmap_at_close(ctx, &dose->aggressors[i].memory);
    }
    const bool cached = params->kind == DOSE_CACHE;
    const size_t half = memory_llc_reached(ctx->machine, NULL, 1) / 2;
    const size_t bytes = cached && half < dose->sizes.area_bytes ? half : dose->sizes.area_bytes;
    set_times(dose, cached ? bytes : 0);
    return rc ? rc : memory_open(ctx, &dose->area, bytes, MEMORY_THP);
}

static int memory_start(struct bench_ctx *ctx, double level)
{
    struct memory_dose *dose = ctx->state;
    const struct bench_machine *machine = ctx->machine;
    const struct dose *params = ctx->params;
    unsigned *os_cpus = bench_array(ctx, machine->ncpus, sizeof(*os_cpus));
    dose->latency = params->kind == DOSE_LATENCY;
    dose->n = machine->ncpus - 1;
    if (!os_cpus)
        return -ENOMEM;
    if (!dose->n)
        return err_set(ctx->err, -ENOTSUP, "a dose of %s needs two CPUs of its own",
                       dose_names[params->kind]);
    int rc = open_memory(ctx);
    if (rc)
        return rc;
    if (dose->latency)
        chase_grow(dose->area.base, 0, dose->area.bytes / CHASE_LINE_BYTES, ctx->seed);
    else
        memset(dose->area.base, 0, dose->area.bytes);
    dose->at = dose->area.base;
    for (unsigned i = 0; i < machine->ncpus; i++)
        os_cpus[i] = machine->cpus[i].os_cpu;
    rc = dose_team_start(&dose->team, ctx, os_cpus, machine->ncpus, run_thread, dose);
    if (!rc)
        begin(dose, dose->latency ? 1 / level : level);
    return rc;
}

static int memory_check(struct bench_ctx *ctx)
{
    struct memory_dose *dose = ctx->state;
    dose_team_stop(&dose->team);
    for (unsigned i = 0; i < dose->n; i++) {
        int rc = aggressor_check(&dose->aggressors[i], ctx->machine->cpus[i + 1].os_cpu, ctx->err);
        if (rc)
            return rc;
    }
    return 0;
}

const struct dose_ops dose_memory = {memory_start, memory_hold, memory_check,
                                     sizeof(struct memory_dose)};
