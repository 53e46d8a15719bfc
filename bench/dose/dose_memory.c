/*
 * Memory bandwidth, latency, or the last-level cache, as seen by a probe on a CPU of its own.
 * Aggressors on the other CPUs press for a share of each period, so that the probe's speed over all
 * time is the target. For the cache, the probe reads half of it again and again: lines that the
 * aggressors evicted come from memory. Periods are then long enough to refill the cache.
 *
 * The probe never pauses. Its speeds while the aggressors press and while they rest have a ratio,
 * which gives the share of time: speed = 1 - share (1 - ratio). The probe's speed over all time is
 * compared with the target, and corrects the share. Both speeds are measured beside the workers,
 * again and again, so the workers' cost to the probe cancels.
 *
 * How aggressors press is chosen on this machine: sequential or random lines
 * (bench/cpu/thrash/aggressor.h), whichever slows the probe more, on as few CPUs as suffice. If
 * they are too few for the level, more of them press. The place of pressing within a period is
 * random, so that it does not synchronize with the workers.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/cpu/thrash/aggressor.h"
#include "bench/dose/dose.h"
#include "bench/dose/press.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/mix64.h"
#include "kernels/cpu/stream.h"

enum {
    READ = 4096, /* doubles per read of the probe: 32 KiB, some 3 us */
    LOADS = 4 * CHASE_STEP
};

static const uint64_t least_period_ns = 10000000;
static const uint64_t longest_ns = 1000000; /* limit of a piece: in a longer one another task ran */
static const uint64_t least_guard_ns = 100000; /* after a change: queues fill and drain */
static const uint64_t periods_of_guard = 10;
static const double refill_bytes_ns = 5;      /* refill of a cache from memory: slow, by one CPU */
static const uint64_t look_ns = 60000000;     /* at one setting, before workers run */
static const size_t area_most = 256ull << 20; /* per area; its pages are touched in each round */
static const double most_share = 0.9;         /* the rest shows the speed without aggressors */
static const double few_share = 0.2, enough_share = 0.7;
static const double gain = 0.1;   /* per step, on the share of the time */
static const double weight = 0.2; /* of a step in the mean of speeds */

/* Work of the probe. */
struct done {
    double units, ns;
};

struct memory_dose {
    struct press press;
    bool latency;
    uint64_t period_ns, guard_ns;
    double target; /* speed relative to that with resting aggressors */
    unsigned n;    /* aggressors */
    struct aggressor *aggressors;
    struct aggressor_sizes sizes;
    _Atomic enum aggressor_kind kind;
    struct memory_block area; /* of the probe */
    struct chase_line *at;
    size_t position;

    _Atomic unsigned ready;    /* aggressors with filled memory */
    _Atomic unsigned active;   /* number of active aggressors, the first ones */
    _Atomic uint64_t press_ns; /* pressing time of each period */
    _Alignas(128) _Atomic uint64_t units[3], spent_ns[3]; /* by enum when; written by the probe */
    struct done seen[3];                                  /* as of the last look */
    double speed[2];                                      /* means: resting, pressing */
    double trim;
};

enum when { RESTING, PRESSING, ALWAYS };

/* Start of pressing within the period of `ns`. */
static uint64_t begin_of(uint64_t ns, uint64_t period_ns, uint64_t press_ns)
{
    uint64_t index = ns / period_ns;
    return index * period_ns + (press_ns < period_ns ? mix64(index) % (period_ns - press_ns) : 0);
}

static bool is_pressing(const struct memory_dose *dose, uint64_t ns, uint64_t press_ns)
{
    uint64_t begin_ns = begin_of(ns, dose->period_ns, press_ns);
    return ns >= begin_ns && ns < begin_ns + press_ns;
}

/* What the aggressors did during all of `from_ns` to `to_ns`; ALWAYS: some of both. */
static enum when find_when(const struct memory_dose *dose, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t press_ns = atomic_load_explicit(&dose->press_ns, memory_order_relaxed);
    bool pressing = is_pressing(dose, to_ns, press_ns);
    bool all = is_pressing(dose, from_ns, press_ns) == pressing &&
               is_pressing(dose, from_ns - dose->guard_ns, press_ns) == pressing;
    return !all ? ALWAYS : pressing ? PRESSING : RESTING;
}

static void press_memory(struct memory_dose *dose, unsigned rank)
{
    struct aggressor *self = &dose->aggressors[rank];
    const uint64_t nap_ns = 2000000;
    aggressor_fill(self, &dose->sizes);
    (void)atomic_fetch_add(&dose->ready, 1);
    while (press_goes_on(&dose->press)) {
        if (rank >= atomic_load_explicit(&dose->active, memory_order_relaxed))
            clock_sleep_until(clock_timer_ns() + nap_ns);
        else if (is_pressing(dose, clock_now_ns(),
                             atomic_load_explicit(&dose->press_ns, memory_order_relaxed)))
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
static void count(struct memory_dose *dose, enum when when, double units, uint64_t ns)
{
    uint64_t had = atomic_load_explicit(&dose->units[when], memory_order_relaxed);
    uint64_t spent = atomic_load_explicit(&dose->spent_ns[when], memory_order_relaxed);
    atomic_store_explicit(&dose->units[when], had + (uint64_t)units, memory_order_relaxed);
    atomic_store_explicit(&dose->spent_ns[when], spent + ns, memory_order_relaxed);
}

static void probe(struct memory_dose *dose)
{
    uint64_t from_ns = clock_now_ns();
    while (press_goes_on(&dose->press)) {
        double units = probe_once(dose);
        uint64_t to_ns = clock_now_ns();
        enum when when = find_when(dose, from_ns, to_ns);
        bool counts = to_ns - from_ns < longest_ns;
        if (counts)
            count(dose, ALWAYS, units, to_ns - from_ns);
        if (counts && when != ALWAYS)
            count(dose, when, units, to_ns - from_ns);
        from_ns = to_ns;
    }
}

static void press_or_probe(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    if (rank)
        press_memory(arg, rank - 1);
    else
        probe(arg);
}

/* Units per ns since the last look; NaN = none. */
static double read_speed(struct memory_dose *dose, enum when when)
{
    struct done *seen = &dose->seen[when];
    const struct done now = {(double)atomic_load(&dose->units[when]),
                             (double)atomic_load(&dose->spent_ns[when])};
    double units = now.units - seen->units, ns = now.ns - seen->ns;
    *seen = now;
    return ns > 0 ? units / ns : (double)NAN;
}

static void set_share(struct memory_dose *dose, unsigned active, double share)
{
    atomic_store(&dose->active, active);
    atomic_store(&dose->press_ns, (uint64_t)(share * (double)dose->period_ns));
}

/* The probe's speed over look_ns while `active` aggressors press for the share of the time. */
static double look_at(struct memory_dose *dose, unsigned active, double share)
{
    set_share(dose, active, share);
    clock_sleep_until(clock_timer_ns() + look_ns / 4);
    (void)read_speed(dose, ALWAYS);
    clock_sleep_until(clock_timer_ns() + look_ns);
    return read_speed(dose, ALWAYS);
}

static unsigned more_than(const struct memory_dose *dose, unsigned active)
{
    return 2 * active < dose->n ? 2 * active : dose->n;
}

/* Chooses the kind that slows the probe more, then as few aggressors as reach the target while
 * pressing for enough_share. */
static void choose(struct memory_dose *dose)
{
    const double enough = 1 - (1 - dose->target) / enough_share;
    double rest = look_at(dose, 0, 0), least = INFINITY;
    enum aggressor_kind worst = AGGRESSOR_STREAM;
    for (enum aggressor_kind kind = AGGRESSOR_STREAM; kind <= AGGRESSOR_RANDOM; kind++) {
        atomic_store(&dose->kind, kind);
        double speed = look_at(dose, dose->n, 1);
        worst = speed < least ? kind : worst;
        least = fmin(least, speed);
    }
    atomic_store(&dose->kind, worst);
    unsigned active = 1;
    double speed = look_at(dose, active, 1);
    while (active < dose->n && speed > enough * rest) {
        active = more_than(dose, active);
        speed = look_at(dose, active, 1);
    }
    dose->speed[RESTING] = rest;
    dose->speed[PRESSING] = speed;
}

/* Moves the mean, with a limit in case other programs disturbed the probe in this step. */
static double mean_of(double mean, double now)
{
    const double most = 1.25;
    if (isnan(mean) || isnan(now))
        return isnan(mean) ? now : mean;
    now = fmin(most * mean, fmax(mean / most, now));
    return mean + weight * (now - mean);
}

/* Changes the number of aggressors: their effect on the probe must be measured anew. */
static void set_active(struct memory_dose *dose, unsigned active)
{
    set_share(dose, active, enough_share / 2);
    dose->speed[PRESSING] = NAN;
    dose->trim = 0;
}

static void control(struct memory_dose *dose, double held)
{
    unsigned active = atomic_load(&dose->active);
    double cost = fmax(0.01, 1 - dose->speed[PRESSING] / dose->speed[RESTING]);
    if (dose->target >= 1)
        return set_share(dose, active, 0);
    if (isnan(dose->speed[PRESSING]) || isnan(dose->speed[RESTING]))
        return set_share(dose, active, enough_share / 2);
    if (!isnan(held))
        dose->trim = fmin(0.3, fmax(-0.3, dose->trim + gain * (held - dose->target) / cost));
    double share = (1 - dose->target) / cost + dose->trim;
    if (share > most_share && active < dose->n)
        return set_active(dose, more_than(dose, active));
    if (share < few_share && active > 1)
        return set_active(dose, active / 2);
    set_share(dose, active, fmax(0, fmin(share, most_share)));
}

static double memory_hold(struct bench_ctx *ctx)
{
    struct memory_dose *dose = ctx->state;
    double all = read_speed(dose, ALWAYS);
    for (enum when when = RESTING; when <= PRESSING; when++)
        dose->speed[when] = mean_of(dose->speed[when], read_speed(dose, when));
    double held = all / dose->speed[RESTING];
    control(dose, held);
    return dose->latency ? 1 / held : held;
}

/* Waits until all aggressors have filled their memory, which disturbs the probe; then
 * calibrates. */
static void begin(struct memory_dose *dose)
{
    while (atomic_load(&dose->ready) < dose->n)
        clock_sleep_until(clock_timer_ns() + look_ns / 16);
    choose(dose);
    control(dose, NAN);
    for (enum when when = RESTING; when <= ALWAYS; when++)
        (void)read_speed(dose, when);
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
            rc = memory_keep(ctx, &dose->aggressors[i].memory);
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
    dose->target = dose->latency ? 1 / level : level;
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
    rc = press_start(&dose->press, ctx, os_cpus, machine->ncpus, press_or_probe, dose);
    if (!rc)
        begin(dose);
    return rc;
}

static int memory_check(struct bench_ctx *ctx)
{
    struct memory_dose *dose = ctx->state;
    press_stop(&dose->press);
    for (unsigned i = 0; i < dose->n; i++) {
        int rc = aggressor_check(&dose->aggressors[i], ctx->machine->cpus[i + 1].os_cpu, ctx->err);
        if (rc)
            return rc;
    }
    return 0;
}

const struct dose_ops dose_memory = {memory_start, memory_hold, memory_check,
                                     sizeof(struct memory_dose)};
