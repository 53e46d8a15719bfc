#include "tests/lib/fixture_result.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/show/result.h"
#include "harness/verdict/verdict.h"

struct fixture_params {
    int64_t rows, cols;
};

static const struct opt fixture_opts[] = {
    OPT_INT("rows", fixture_params, rows, "64", 0, 0, NULL, "rows"),
    OPT_INT("cols", fixture_params, cols, "8", 0, 0, NULL, "columns"),
    {.name = NULL},
};

const struct bench fixture_bench = {
    .name = "fixture",
    .summary = "made by hand",
    .ops_unit = "items",
    .needs = NEED_DEVICE,
    .opts = fixture_opts,
    .params_size = sizeof(struct fixture_params),
};

int fixture_no_scan(struct bench_ctx *ctx)
{
    (void)ctx;
    return 0;
}

static const struct fixture_params fixture_params = {.rows = 64, .cols = 8};

bool fixture_near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    assert(memory);
    return memory;
}

const struct slo *fixture_slo(const char *text, bool of_alone)
{
    static struct slo slo;
    if (!text)
        return NULL;
    if (slo_parse(text, of_alone, &slo, NULL))
        abort();
    return &slo;
}

void fixture_result_init(struct result *result)
{
    *result = (struct result){
        .run_id = "20240102T030405Z-fixture",
        .scenario = "fixture",
        .device = DEVICE_SIM,
        .rounds_planned = 3,
        .rounds_done = 3,
        .seed = 1,
    };
}

void fixture_result_free(struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[i];
        for (size_t o = 0; o < arm->nobservations; o++)
            observation_free(&arm->observations[o]);
        free(arm->observations);
        free(arm->plan.workers);
    }
    free(result->arms);
    memset(result, 0, sizeof(*result));
}

static void plan_worker(struct plan_worker *worker, enum placement placement, unsigned index,
                        unsigned planned_workers)
{
    bool unpinned =
        placement == PLACE_NONE || placement == PLACE_SIZED || placement == PLACE_PASSIVE;
    unsigned share = FIXTURE_CPUS / planned_workers;
    unsigned first = unpinned || placement == PLACE_SAME ? 0 : index * share;
    unsigned count = unpinned ? FIXTURE_CPUS : share;
    for (unsigned cpu = first; cpu < first + count; cpu++)
        bitset_set(&worker->cpus, cpu);
    worker->passive = placement == PLACE_PASSIVE;
    worker->threads = placement == PLACE_NONE || worker->passive ? FIXTURE_CPUS : share;
    worker->gpu = -1;
}

static struct arm *add_arm(struct result *result, enum placement placement,
                           unsigned planned_workers)
{
    struct arm *grown = realloc(result->arms, (result->narms + 1) * sizeof(*grown));
    assert(grown);
    result->arms = grown;
    struct arm *arm = &grown[result->narms++];
    *arm = (struct arm){.bench = &fixture_bench,
                        .params = &fixture_params,
                        .placement = placement,
                        .workers = planned_workers,
                        .planned_workers = planned_workers,
                        .same_as = -1};
    arm->plan.placement = placement;
    return arm;
}

size_t fixture_add_arm(struct result *result, enum placement placement, unsigned planned_workers,
                       bool alone)
{
    struct arm *arm = add_arm(result, placement, planned_workers);
    arm->is_baseline = alone;
    arm->workers = alone ? 1 : planned_workers;
    arm->plan.nworkers = planned_workers;
    arm->plan.workers = allocate(planned_workers, sizeof(*arm->plan.workers));
    for (unsigned i = 0; i < planned_workers; i++)
        plan_worker(&arm->plan.workers[i], placement, i, planned_workers);
    return result->narms - 1;
}

void fixture_add_background(struct result *result, size_t arm)
{
    struct plan *plan = &result->arms[arm].plan;
    plan->workers = realloc(plan->workers, (plan->nworkers + 1) * sizeof(*plan->workers));
    assert(plan->workers);
    plan->workers[plan->nworkers] = plan->workers[0];
    plan->workers[plan->nworkers++].background = true;
}

/* Two steps over the whole time in which the first worker was measured. */
static void add_held(struct observation *observation, double held)
{
    size_t size = (observation->nworkers + 1) * sizeof(*observation->workers);
    observation->workers = realloc(observation->workers, size);
    assert(observation->workers);
    const struct worker_result *first = &observation->workers[0];
    struct worker_result *behind = &observation->workers[observation->nworkers++];
    *behind = (struct worker_result){.background = true,
                                     .go_ns = first->go_ns,
                                     .nsamples = 2,
                                     .samples = allocate(2, sizeof(*behind->samples))};
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t half_ns = (first->end_ns - first->go_ns) / 2;
        behind->samples[i] = (struct sample){.start_ns = first->go_ns + i * half_ns,
                                             .elapsed_ns = half_ns,
                                             .rate = held,
                                             .iters = 1};
    }
}

void fixture_add_dose(struct result *result, size_t index, struct dose dose, double held)
{
    static const struct bench bench = {.name = DOSE_BENCH};
    struct arm *arm = &result->arms[index];
    result->background = &bench;
    fixture_add_background(result, index);
    arm->dose = dose;
    arm->plan.has_dose = true;
    for (unsigned w = 0; w < arm->planned_workers; w++)
        bitset_or(&arm->plan.workers[arm->planned_workers].cpus, &arm->plan.workers[w].cpus);
    for (size_t i = 0; i < arm->nobservations; i++)
        add_held(&arm->observations[i], held);
}

size_t fixture_add_skipped(struct result *result, enum placement placement,
                           unsigned planned_workers, const char *reason)
{
    struct arm *arm = add_arm(result, placement, planned_workers);
    arm->plan.status = PLAN_SKIPPED;
    (void)snprintf(arm->plan.reason, sizeof(arm->plan.reason), "%s", reason);
    return result->narms - 1;
}

void fixture_set_shares(struct worker_result *worker, double oncpu, double runqueue, double blocked)
{
    worker->usage.oncpu_s = oncpu * worker->usage.wall_s;
    worker->usage.runqueue_s = runqueue * worker->usage.wall_s;
    worker->usage.blocked_s = blocked * worker->usage.wall_s;
}

void fixture_set_steps(struct worker_result *worker, const double *steps_ms, size_t nsteps)
{
    free(worker->samples);
    worker->samples = allocate(nsteps, sizeof(*worker->samples));
    worker->nsamples = nsteps;
    worker->end_ns = worker->go_ns;
    for (size_t i = 0; i < nsteps; i++) {
        uint64_t elapsed_ns = (uint64_t)llround(steps_ms[i] * 1e6);
        worker->samples[i] = (struct sample){.start_ns = worker->end_ns,
                                             .elapsed_ns = elapsed_ns,
                                             .ops = FIXTURE_OPS,
                                             .bytes = 4096,
                                             .device_ns = elapsed_ns / 4,
                                             .iters = 1};
        worker->end_ns += elapsed_ns;
    }
    double steps = (double)nsteps;
    unsigned threads = worker->usage.team_threads;
    worker->usage = (struct usage){
        .wall_s = (double)(worker->end_ns - worker->go_ns) * 1e-9,
        .voluntary_switches = 2 * steps,
        .involuntary_switches = 4 * steps,
        .migrations = steps,
        .helper_cpu_s = 0.001 * steps,
        .minor_faults = 8 * steps,
        .cpus_visited = 3,
        .instructions = 1000 * steps * threads,
        .cycles = 2000 * steps * threads,
        .cache_misses = NAN,
        .throttled_s = NAN,
        .team_threads = threads,
    };
    fixture_set_shares(worker, 0.5, 0.3, 0.2);
}

struct observation *fixture_add_round(struct result *result, size_t index, unsigned round,
                                      const double *steps_ms, size_t nsteps)
{
    struct arm *arm = &result->arms[index];
    struct observation *grown =
        realloc(arm->observations, (arm->nobservations + 1) * sizeof(*grown));
    assert(grown);
    arm->observations = grown;
    struct observation *observation = &grown[arm->nobservations++];
    *observation = (struct observation){
        .round = round,
        .order = (unsigned)index,
        .nworkers = arm->workers,
        .workers = allocate(arm->workers, sizeof(*observation->workers)),
        .steal = 0.01,
        .foreign_cpu = 0.02,
        .psi_cpu_some = 0.25,
        .gpu_clock_mhz = NAN,
        .gpu_temp_c = NAN,
        .start_ns = UINT64_C(1000000000) * (round + 1),
    };
    for (unsigned w = 0; w < arm->workers; w++) {
        struct worker_result *worker = &observation->workers[w];
        worker->go_ns = observation->start_ns;
        worker->cpus_actual = arm->plan.workers[w].cpus;
        worker->usage.team_threads = arm->plan.workers[w].threads;
        fixture_set_steps(worker, steps_ms, nsteps);
    }
    return observation;
}

struct observation *fixture_add_even_round(struct result *result, size_t arm, unsigned round,
                                           double step_ms, size_t nsteps)
{
    double steps_ms[FIXTURE_STEPS_MAX];
    assert(nsteps <= FIXTURE_STEPS_MAX);
    for (size_t i = 0; i < nsteps; i++)
        steps_ms[i] = step_ms;
    return fixture_add_round(result, arm, round, steps_ms, nsteps);
}

void fixture_censor(struct observation *observation, unsigned worker)
{
    observation->workers[worker].censored = true;
    observation->workers[worker].status = STATUS_CENSORED;
    observation->status = STATUS_CENSORED;
}

char *fixture_print(const struct result *result, bool color)
{
    struct verdict verdict;
    char *text = NULL;
    size_t size;
    int rc = verdict_make(result, NULL, &verdict, NULL);
    FILE *out = rc ? NULL : open_memstream(&text, &size);
    if (!out)
        abort();
    struct doc doc = {0};
    doc_findings(&doc, &verdict.findings, DOC_LEADING);
    run_add_to_doc(&verdict.analysis, &doc);
    doc_findings(&doc, &verdict.findings, DOC_REST);
    doc_print(&doc, out, color, true);
    doc_free(&doc);
    if (fclose(out))
        abort();
    verdict_free(&verdict);
    return text;
}

void fixture_demo(struct result *result)
{
    static const struct {
        enum placement placement;
        bool alone;
        double step_ms;
        double oncpu, runqueue, blocked; /* shares */
    } arms[] = {
        {PLACE_NONE, true, 12, 0.9, 0, 0.1},       {PLACE_PARTITION, true, 20, 0.9, 0, 0.1},
        {PLACE_NONE, false, 240, 0.2, 0.75, 0.05}, {PLACE_SIZED, false, 24, 0.8, 0.1, 0.1},
        {PLACE_SAME, false, 40, 0.5, 0.4, 0.1},    {PLACE_PARTITION, false, 20, 0.9, 0, 0.1},
    };
    static const double jitter[] = {1.0, 1.02, 0.98};
    fixture_result_init(result);
    for (size_t a = 0; a < sizeof(arms) / sizeof(arms[0]); a++) {
        size_t arm = fixture_add_arm(result, arms[a].placement, 2, arms[a].alone);
        for (unsigned round = 0; round < 3; round++) {
            struct observation *observation = fixture_add_even_round(
                result, arm, round, arms[a].step_ms * jitter[(round + a) % 3], 4);
            for (unsigned w = 0; w < observation->nworkers; w++)
                fixture_set_shares(&observation->workers[w], arms[a].oncpu, arms[a].runqueue,
                                   arms[a].blocked);
        }
    }
    size_t same = fixture_add_arm(result, PLACE_SAME, 2, true);
    result->arms[same].same_as = 1;
    (void)fixture_add_skipped(result, PLACE_LLC, 2, "the machine has one last-level cache");
}

struct by_hand by_hand;

int by_hand_begin(void **state)
{
    (void)state;
    by_hand = (struct by_hand){0};
    fixture_result_init(&by_hand.result);
    return 0;
}

int by_hand_end(void **state)
{
    (void)state;
    analysis_free(&by_hand.analysis);
    fixture_result_free(&by_hand.result);
    return 0;
}

void by_hand_again(void)
{
    (void)by_hand_end(NULL);
    (void)by_hand_begin(NULL);
}
