#include "tests/lib/fixture_plots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"

enum { MARKS_S = 1, SAMPLES_MOST = 300 };
static const double limit_s = 4;

static const struct opt bench_opts[] = {
    {.name = "rows", .kind = OPT_INT, .offset = 0, .def = "16384"},
    {.name = NULL},
};
static const int64_t bench_params = 16384;
static const struct bench plots_bench = {
    .name = "pipeline",
    .summary = "stands in for the real one",
    .ops_unit = "items",
    .needs = NEED_DEVICE,
    .opts = bench_opts,
    .params_size = sizeof(int64_t),
};

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* Around 1, with a tail to the right. */
static double noise(uint64_t *state, double sigma)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_share(state);
    return exp(sigma * (sum - 6)) * (random_share(state) < 0.02 ? 1.6 : 1);
}

/* What a placement does to the step time, and where the time goes. */
struct effect {
    double slowdown, sigma; /* relative to a worker alone on a slice */
    double oncpu, wait;     /* shares of the wall time; the rest is blocked */
};

static struct effect effect_of(const struct fixture_machine *machine, enum placement placement,
                               unsigned workers, bool alone)
{
    if (alone)
        return (struct effect){placement == PLACE_NONE     ? 0.7
                               : placement == PLACE_REMOTE ? 1.3
                                                           : 1,
                               0.04, 0.93, 0.002};
    switch (placement) {
    case PLACE_NONE:
        return (struct effect){machine->collapse, 0.25, 0.42, 0.56};
    case PLACE_SIZED:
        return (struct effect){1.35, 0.2, 0.8, 0.12};
    case PLACE_SAME:
        return (struct effect){1.15 * workers, 0.3, 0.9 / workers, 0.9 - 0.9 / workers};
    case PLACE_REMOTE:
        return (struct effect){1.6, 0.08, 0.95, 0.01};
    default:
        return (struct effect){1.03, 0.05, 0.92, 0.004};
    }
}

static unsigned slice_of(const struct fixture_machine *machine, unsigned planned_workers)
{
    unsigned slice = machine->cpus / planned_workers;
    return slice ? slice : 1;
}

static void make_plan(const struct fixture_machine *machine, struct arm *arm)
{
    unsigned slice = slice_of(machine, arm->planned_workers);
    arm->plan.placement = arm->placement;
    arm->plan.nworkers = arm->planned_workers;
    arm->plan.workers = must(calloc(arm->planned_workers, sizeof(*arm->plan.workers)));
    for (unsigned w = 0; w < arm->planned_workers; w++) {
        struct plan_worker *worker = &arm->plan.workers[w];
        bool wide = arm->placement == PLACE_NONE || arm->placement == PLACE_SIZED;
        unsigned first = wide || arm->placement == PLACE_SAME ? 0 : w * slice;
        for (unsigned i = 0; i < (wide ? machine->cpus : slice); i++)
            bitset_set(&worker->cpus, first + i);
        worker->threads = arm->placement == PLACE_NONE ? machine->cpus : slice;
        worker->gpu = -1;
    }
}

static void make_samples(const struct fixture_machine *machine, const struct arm *arm,
                         const struct effect *effect, uint64_t *state, struct worker_result *worker)
{
    double mean_s = machine->alone_s * effect->slowdown;
    size_t n = (size_t)(1 / mean_s);
    n = n < 1 ? 1 : n > SAMPLES_MOST ? SAMPLES_MOST : n;
    worker->samples = must(calloc(n, sizeof(*worker->samples)));
    worker->nsamples = n;
    uint64_t at_ns = worker->go_ns;
    for (size_t i = 0; i < n; i++) {
        double step_s = mean_s * noise(state, effect->sigma);
        if (machine->cut_off && arm->placement == PLACE_NONE && !arm->is_baseline &&
            step_s > limit_s) {
            step_s = limit_s;
            worker->censored = true;
            worker->status = STATUS_CENSORED;
        }
        worker->samples[i] = (struct sample){
            .start_ns = at_ns,
            .elapsed_ns = (uint64_t)(step_s * 1e9),
            .ops = 16384,
            .device_ns = (uint64_t)(machine->alone_s * 0.1e9),
            .iters = 1,
        };
        at_ns += worker->samples[i].elapsed_ns;
    }
    worker->end_ns = at_ns;
}

static void make_usage(const struct fixture_machine *machine, const struct effect *effect,
                       unsigned threads, struct worker_result *worker)
{
    double wall_s = (double)(worker->end_ns - worker->go_ns) * 1e-9;
    double wait_s = wall_s * effect->wait;
    worker->usage = (struct usage){
        .wall_s = wall_s,
        .oncpu_s = wall_s * effect->oncpu,
        .runqueue_s = machine->no_schedstat ? (double)NAN : wait_s,
        .blocked_s =
            wall_s * (1 - effect->oncpu - effect->wait) + (machine->no_schedstat ? wait_s : 0),
        .voluntary_switches = 10,
        .involuntary_switches = 1000 * effect->wait,
        .cpus_visited = threads,
        .instructions = NAN,
        .cycles = NAN,
        .cache_misses = NAN,
        .team_threads = threads,
    };
}

static int compare_cpu_samples(const void *a, const void *b)
{
    const struct cpu_sample_point *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* The n-th member of a set that has more than n. */
static unsigned member(const struct bitset *set, unsigned n)
{
    int at = bitset_next(set, 0);
    while (n--)
        at = bitset_next(set, (unsigned)at + 1);
    return (unsigned)at;
}

/* Teams with more CPUs than threads migrate. Crowded teams migrate more and have fewer samples. */
static void make_cpu_samples(const struct plan_worker *planned, bool crowded, uint64_t *state,
                             struct worker_result *worker)
{
    unsigned room = bitset_count(&planned->cpus), capacity = 0;
    double moves = planned->threads < room ? 0.08 : crowded ? 0.2 : 0.02;
    for (unsigned thread = 0; thread < planned->threads; thread++) {
        uint64_t at_ns = worker->go_ns + (uint64_t)(random_share(state) * (crowded ? 9e6 : 1e6));
        unsigned cpu = member(&planned->cpus, thread % room);
        while (at_ns < worker->go_ns + MARKS_S * UINT64_C(500000000)) {
            if (worker->ncpu_samples == capacity) {
                capacity = capacity ? 2 * capacity : 256;
                worker->cpu_samples =
                    must(realloc(worker->cpu_samples, capacity * sizeof(*worker->cpu_samples)));
            }
            if (random_share(state) < moves)
                cpu = member(&planned->cpus, (unsigned)(random_share(state) * room));
            worker->cpu_samples[worker->ncpu_samples++] =
                (struct cpu_sample_point){at_ns, thread, cpu};
            at_ns += (uint64_t)(1e6 * (crowded ? 4 + 14 * random_share(state)
                                               : 1 + 2 * random_share(state)));
        }
    }
    qsort(worker->cpu_samples, worker->ncpu_samples, sizeof(*worker->cpu_samples),
          compare_cpu_samples);
}

static void make_observation(const struct fixture_machine *machine, const struct arm *arm,
                             unsigned round, uint64_t *state, struct observation *observation)
{
    struct effect effect =
        effect_of(machine, arm->placement, arm->planned_workers, arm->is_baseline);
    effect.slowdown *= 1 + 0.03 * (random_share(state) - 0.5);
    *observation = (struct observation){
        .round = round,
        .nworkers = arm->workers,
        .steal = machine->steal,
        .foreign_cpu = NAN,
        .psi_cpu_some = NAN,
        .gpu_clock_mhz = NAN,
        .gpu_temp_c = NAN,
        .start_ns = UINT64_C(1000000000) * (1 + round),
    };
    observation->workers = must(calloc(arm->workers, sizeof(*observation->workers)));
    for (unsigned w = 0; w < arm->workers; w++) {
        struct worker_result *worker = &observation->workers[w];
        const struct plan_worker *planned = &arm->plan.workers[w];
        worker->cpus_actual = planned->cpus;
        worker->go_ns = observation->start_ns + 200000000; /* the device settles first */
        make_samples(machine, arm, &effect, state, worker);
        make_usage(machine, &effect, planned->threads, worker);
        bool crowded = arm->planned_workers > 1 &&
                       (arm->placement == PLACE_NONE || arm->placement == PLACE_SAME);
        if (round == 0 && !arm->is_baseline)
            make_cpu_samples(planned, crowded, state, worker);
        if (worker->status > observation->status)
            observation->status = worker->status;
    }
}

static void make_arm(const struct fixture_machine *machine, size_t placement,
                     unsigned planned_workers, bool alone, uint64_t *state, struct arm *arm)
{
    *arm = (struct arm){
        .bench = &plots_bench,
        .params = &bench_params,
        .placement = machine->placements[placement],
        .workers = alone ? 1 : planned_workers,
        .planned_workers = planned_workers,
        .is_baseline = alone,
        .same_as = -1,
    };
    if (machine->skip_reason && placement + 1 == machine->nplacements) {
        arm->plan.placement = arm->placement;
        arm->plan.status = PLAN_SKIPPED;
        (void)snprintf(arm->plan.reason, sizeof(arm->plan.reason), "%s", machine->skip_reason);
        return;
    }
    make_plan(machine, arm);
    arm->observations = must(calloc(machine->rounds, sizeof(*arm->observations)));
    for (unsigned round = 0; round < machine->rounds; round++)
        make_observation(machine, arm, round, state, &arm->observations[round]);
    arm->nobservations = machine->rounds;
}

void fixture_plots_make(const struct fixture_machine *machine, struct result *result)
{
    uint64_t state = 42;
    size_t sizes = 0;
    while (sizes < 4 && machine->workers[sizes])
        sizes++;
    *result = (struct result){
        .run_id = "20250101T120000Z-pipeline",
        .scenario = "pipeline",
        .device = machine->device,
        .rounds_planned = machine->rounds,
        .rounds_done = machine->rounds,
        .seed = 42,
    };
    result->arms = must(calloc(2 * sizes * machine->nplacements, sizeof(*result->arms)));
    for (size_t s = 0; s < sizes; s++)
        for (size_t p = 0; p < machine->nplacements; p++)
            for (int alone = 0; alone < 2; alone++)
                make_arm(machine, p, machine->workers[s], alone, &state,
                         &result->arms[result->narms++]);
}

void fixture_plots_free(struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[i];
        for (size_t k = 0; k < arm->nobservations; k++)
            observation_free(&arm->observations[k]);
        free(arm->observations);
        free(arm->plan.workers);
    }
    free(result->arms);
    *result = (struct result){0};
}
