#include "harness/engine/worker/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/engine/worker/usage.h"
#include "harness/lib/sys/clock.h"

/* True if ranks meet in every step. All must then do the same number of steps, or they hang. */
static bool is_coupled(const struct worker *w)
{
    return w->bench->gang && !w->bench->scan && w->peers.size > 1;
}

static struct step_limit *step_limit_of(const struct worker *w)
{
    return &w->shared->step_limit[w->slot->plan.background];
}

static int run_once(struct worker *w, struct sample *sample)
{
    w->stages = (struct stage_clock){.on = w->stages.on};
    *sample = (struct sample){.iters = w->iters, .start_ns = clock_now_ns()};
    int rc = w->bench->scan ? w->bench->scan(&w->ctx) : w->bench->step(&w->ctx, w->iters, sample);
    sample->elapsed_ns = clock_now_ns() - sample->start_ns;
    if (w->stages.reads && !w->ctx.measuring)
        w->stage_ns = fmin(w->stage_ns, (double)sample->elapsed_ns / (double)w->stages.reads);
    w->slot->step_ops = sample->ops;
    if (!w->bench->scan)
        bench_progress(&w->ctx, w->iters);
    return rc;
}

/*
 * The result of a warm-up step. Of coupled ranks, a result that is true for one rank holds for all.
 */
struct warmup_check {
    bool too_short; /* the interval, for the clock */
    bool too_early;
};

static int join_warmup_checks(struct worker *w, struct warmup_check *warmup_check)
{
    struct warmup_check *all = calloc(w->peers.size, sizeof(*all));
    if (!all)
        return err_set(&w->slot->err, -ENOMEM, "no memory for %u ranks", w->peers.size);
    int rc = peers_gather(&w->peers, warmup_check, all, sizeof(*all), &w->slot->err);
    for (unsigned r = 0; !rc && r < w->peers.size; r++) {
        warmup_check->too_short |= all[r].too_short;
        warmup_check->too_early |= all[r].too_early;
    }
    free(all);
    return rc;
}

int steps_warm_up_one_shot(struct worker *w)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)(w->shared->warmup_s * 1e9);
    struct sample sample = {0};
    int rc = 0;
    while (!rc && (w->is_cold || clock_now_ns() < end_ns)) {
        rc = run_once(w, &sample);
        w->is_cold = false;
        w->step_ns = sample.elapsed_ns;
    }
    return rc;
}

/* Times of the latest steps, to see whether steps have become steady. */
enum { STEADY_STEPS = 3 };
struct steadiness {
    double step_ns[STEADY_STEPS];
    unsigned n;
};

/* Adds a step. True if the latest steps took at most 10% longer than the shortest of them. */
static bool is_steady(struct steadiness *of, double step_ns)
{
    static const double alike = 1.1;
    double least = step_ns, most = step_ns;
    of->step_ns[of->n++ % STEADY_STEPS] = step_ns;
    for (unsigned i = 0; i < STEADY_STEPS; i++) {
        least = fmin(least, of->step_ns[i]);
        most = fmax(most, of->step_ns[i]);
    }
    return of->n >= STEADY_STEPS && most <= alike * least;
}

int steps_warm_up(struct worker *w)
{
    uint64_t clock_limit_ns = clock_cost_ns() * CLOCK_MIN_INTERVAL_CALLS;
    uint64_t sample_share_ns = (uint64_t)(w->shared->measure_s * 1e9) / (SHARED_SAMPLES / 2);
    uint64_t least_ns = clock_limit_ns > sample_share_ns ? clock_limit_ns : sample_share_ns;
    const uint64_t begin_ns = clock_now_ns();
    struct steadiness steadiness = {0};
    struct sample sample;
    struct warmup_check warmup_check;
    do {
        int rc = run_once(w, &sample);
        double gone_s = (double)(clock_now_ns() - begin_ns) * 1e-9;
        bool steady = is_steady(&steadiness, (double)sample.elapsed_ns / (double)w->iters);
        warmup_check.too_short = sample.elapsed_ns < least_ns;
        warmup_check.too_early =
            gone_s < w->shared->least_warmup_s || (gone_s < w->shared->warmup_s && !steady);
        if (!rc && is_coupled(w))
            rc = join_warmup_checks(w, &warmup_check);
        if (rc)
            return rc;
        if (warmup_check.too_short)
            w->iters *= 2;
    } while (warmup_check.too_early || warmup_check.too_short);
    w->step_ns = sample.elapsed_ns;
    return 0;
}

static void take_snapshot(struct worker *w, struct usage_snapshot *snapshot)
{
    struct command_seen seen;
    if (w->bench->runs_command) {
        command_read_seen(&w->slot->command, &seen);
        usage_read_tree(&seen.used, snapshot);
    } else {
        usage_read(0, &w->slot->cpu_samples, snapshot);
    }
    usage_read_quota(0, w->shared->nworkers, snapshot);
    perf_read(&w->perf, snapshot);
}

int steps_settle(struct worker *w)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)(w->shared->settle_s * 1e9);
    struct step_limit *step_limit = &w->shared->settled;
    struct sample ignored;
    bool last;
    uint64_t step = 0;
    if (bench_is_whole(w->bench)) {
        clock_sleep_until(clock_timer_ns() + (uint64_t)(w->shared->settle_s * 1e9));
        return 0;
    }
    do {
        step++;
        if (is_coupled(w) && w->peers.rank == 0 && clock_now_ns() + w->step_ns >= end_ns)
            step_limit_end_with(step_limit, step);
        atomic_store_explicit(&w->slot->step_started, clock_now_ns(), memory_order_relaxed);
        int rc = run_once(w, &ignored);
        if (rc)
            return rc;
        w->step_ns = ignored.elapsed_ns;
        last = is_coupled(w) ? step_limit_ends(step_limit, step) : clock_now_ns() >= end_ns;
    } while (!last);
    return 0;
}

/* When measuring ends: at end_ns, or, if steps are long, after the least number of steps. */
struct budget {
    uint64_t end_ns;
    uint64_t most_ns; /* a step that ends later is censored */
};

/* True if measuring ends after `n` steps, at `at_ns`. */
static bool is_spent(const struct worker *w, const struct budget *budget, uint64_t n,
                     uint64_t at_ns)
{
    uint64_t least = w->bench->one_shot ? 1 : BENCH_STEPS_LEAST;
    if (n == SHARED_SAMPLES || at_ns + w->step_ns >= budget->most_ns)
        return true;
    return n >= least && at_ns >= budget->end_ns;
}

/* Rank 0 decides a step ahead: the next step is the last if it spends the budget, assuming that it
 * takes as long as the latest. */
static void set_step_limit(struct worker *w, uint64_t next, const struct budget *budget)
{
    if (is_coupled(w) && w->peers.rank == 0 &&
        is_spent(w, budget, next, clock_now_ns() + w->step_ns))
        step_limit_end_with(step_limit_of(w), next);
}

static bool is_enough(const struct worker *w, uint64_t n, const struct budget *budget)
{
    if (w->bench->scan)
        return true;
    return is_coupled(w) ? step_limit_ends(step_limit_of(w), n)
                         : is_spent(w, budget, n, w->slot->end_ns);
}

/* Stages too short for the clock are not measured: its cost would be a part of them. */
static void judge_stages(struct worker *w, double cost_ns)
{
    w->stages.on = w->stage_ns >= CLOCK_MIN_INTERVAL_CALLS * cost_ns;
    w->slot->stages.refused = w->bench->stages && !w->stages.on;
}

static void add_stages(struct worker *w, size_t index, double cost_ns)
{
    struct stage_sums *sums = &w->slot->stages;
    bool records = w->shared->record_stages && index < SHARED_STAGED;
    if (!w->bench->stages || !w->stages.on)
        return;
    for (unsigned i = 0; i < BENCH_STAGES; i++)
        sums->ns[i] += w->stages.ns[i];
    for (unsigned i = 0; records && i < BENCH_STAGES; i++)
        w->slot->staged[index].ns[i] = (float)w->stages.ns[i];
    w->slot->nstaged += records;
    sums->cost_ns += (double)w->stages.reads * cost_ns;
    sums->iters += w->slot->samples[index].iters;
}

/* Measured steps until the budget is spent. */
static int measure_steps(struct worker *w, const struct budget *budget, double clock_ns)
{
    struct shared_worker *slot = w->slot;
    uint64_t n = 0;
    do {
        set_step_limit(w, n + 1, budget);
        atomic_store_explicit(&slot->step_started, clock_now_ns(), memory_order_relaxed);
        int rc = run_once(w, &slot->samples[n]);
        if (rc)
            return rc;
        add_stages(w, n, clock_ns);
        atomic_store_explicit(&slot->nsamples, ++n, memory_order_release);
        slot->end_ns = slot->samples[n - 1].start_ns + slot->samples[n - 1].elapsed_ns;
        w->step_ns = slot->samples[n - 1].elapsed_ns;
    } while (!is_enough(w, n, budget));
    return 0;
}

int steps_measure(struct worker *w)
{
    struct shared_worker *slot = w->slot;
    double clock_ns = w->bench->stages ? (double)clock_cost_ns() : 0;
    judge_stages(w, clock_ns);
    take_snapshot(w, &slot->at_go);
    atomic_store(&slot->cpu_samples.recording, w->shared->record_cpu_samples);
    w->ctx.measuring = true;
    slot->go_ns = clock_now_ns();
    const struct budget budget = {slot->go_ns + (uint64_t)(w->shared->measure_s * 1e9),
                                  slot->go_ns + (uint64_t)(w->shared->limit_s * 1e9)};
    int rc = measure_steps(w, &budget, clock_ns);
    atomic_store(&slot->step_started, 0);
    w->ctx.measuring = false;
    if (!rc)
        take_snapshot(w, &slot->at_end);
    atomic_store(&slot->cpu_samples.recording, 0);
    return rc;
}

static bool is_stopped(const struct worker *w)
{
    return atomic_load_explicit(&w->shared->stop, memory_order_acquire);
}

/* Runs a step that is not measured; in the background its sample is kept, while there is room. */
static int load_once(struct worker *w)
{
    struct shared_worker *slot = w->slot;
    struct sample ignored;
    uint64_t n = atomic_load_explicit(&slot->nsamples, memory_order_relaxed);
    if (!w->ctx.background || n == SHARED_SAMPLES)
        return run_once(w, &ignored);
    int rc = run_once(w, &slot->samples[n]);
    if (!rc)
        atomic_store_explicit(&slot->nsamples, n + 1, memory_order_release);
    return rc;
}

/* Load of coupled ranks in the background: all end with the same step, soon after the stop. */
static int keep_coupled_load(struct worker *w)
{
    int rc = 0;
    uint64_t step = 0;
    do {
        step++;
        if (w->peers.rank == 0 && is_stopped(w) && !atomic_load(&step_limit_of(w)->last))
            step_limit_end_with(step_limit_of(w), step);
        rc = load_once(w);
    } while (!rc && !step_limit_ends(step_limit_of(w), step));
    return rc;
}

int steps_keep_load(struct worker *w)
{
    int rc = 0;
    if (is_coupled(w) && w->ctx.background)
        return keep_coupled_load(w);
    /* A scan is no load for others, and coupled ranks all end measuring with the same step. */
    if (w->bench->scan || is_coupled(w))
        futex_wait_while(&w->shared->stop, 0);
    while (!rc && !is_stopped(w))
        rc = load_once(w);
    return rc;
}
