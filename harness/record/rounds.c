#include "harness/record/rounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/analysis.h"
#include "harness/record/jobs.h"

static double *usage_at(struct usage *usage, const struct usage_field *field)
{
    return (double *)((char *)usage + field->offset);
}

static bool usable(enum status status)
{
    return status <= STATUS_CENSORED;
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static double worker_steps(const struct worker_result *worker)
{
    double steps = 0;
    for (size_t i = 0; i < worker->nsamples; i++)
        steps += (double)worker->samples[i].iters;
    return steps;
}

/* From go to the end of its last step, finished or not. */
static double worker_elapsed_s(const struct worker_result *worker)
{
    if (!worker->nsamples)
        return NAN;
    const struct sample *last = &worker->samples[worker->nsamples - 1];
    return (double)(last->start_ns + last->elapsed_ns - worker->go_ns) * 1e-9;
}

/* Mean of the rates that its steps report; a step that was cut off reports none. */
static double given_rate(const struct worker_result *worker)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < worker->nsamples; i++)
        if (worker->samples[i].rate > 0) {
            sum += worker->samples[i].rate;
            n++;
        }
    return ratio(sum, n);
}

double rounds_worker_rate(const struct bench *bench, const struct worker_result *worker)
{
    double ops = 0;
    if (!usable(worker->status))
        return NAN;
    if (bench->rate_unit)
        return given_rate(worker);
    for (size_t i = 0; i < worker->nsamples; i++)
        ops += (double)worker->samples[i].ops;
    return ratio(ops, worker_elapsed_s(worker));
}

static double worker_gpu_busy(const struct worker_result *worker)
{
    double busy_s = 0;
    for (size_t i = 0; i < worker->nsamples; i++)
        busy_s += (double)worker->samples[i].device_ns * 1e-9;
    return ratio(busy_s, worker_elapsed_s(worker));
}

static bool has_device(enum device device, const struct plan_worker *planned)
{
    return device == DEVICE_SIM || (device == DEVICE_CUDA && planned->gpu >= 0);
}

static bool binds_memory(const struct plan_worker *planned)
{
    return (planned->mem_policy == MEM_BIND || planned->mem_policy == MEM_PREFERRED) &&
           !bitset_empty(&planned->mem_nodes);
}

/* Adds the pages of the worker's buffer to the two totals. */
static void count_pages(const struct worker_result *worker, const struct plan_worker *planned,
                        double *counted, double *remote)
{
    for (unsigned node = 0; node < BENCH_NODES; node++) {
        *counted += (double)worker->pages_on_node[node];
        if (!bitset_test(&planned->mem_nodes, node))
            *remote += (double)worker->pages_on_node[node];
    }
}

/* The rate over those steps of the worker that began and ended between the two times. */
static double rate_between(const struct worker_result *worker, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t first_ns = 0, last_ns = 0;
    double ops = 0;
    for (size_t i = 0; i < worker->nsamples; i++) {
        const struct sample *sample = &worker->samples[i];
        uint64_t end_ns = sample->start_ns + sample->elapsed_ns;
        if (sample->start_ns < from_ns || end_ns > to_ns)
            continue;
        first_ns = first_ns ? first_ns : sample->start_ns;
        last_ns = end_ns;
        ops += (double)sample->ops;
    }
    return ratio(ops, (double)(last_ns - first_ns) * 1e-9);
}

/* The time in which foreground workers are measured; background workers run longer. */
static void find_measured(const struct observation *observation, uint64_t *from_ns, uint64_t *to_ns)
{
    const struct worker_result *workers = observation->workers;
    *from_ns = *to_ns = 0;
    for (unsigned i = 0; i < observation->nworkers; i++)
        if (!workers[i].background) {
            *from_ns = workers[i].go_ns > *from_ns ? workers[i].go_ns : *from_ns;
            *to_ns = workers[i].end_ns > *to_ns ? workers[i].end_ns : *to_ns;
        }
}

static double background_rate(const struct observation *observation)
{
    uint64_t from_ns, to_ns;
    double rate = 0;
    find_measured(observation, &from_ns, &to_ns);
    for (unsigned i = 0; i < observation->nworkers; i++)
        if (observation->workers[i].background)
            rate += rate_between(&observation->workers[i], from_ns, to_ns);
    return rate > 0 ? rate : (double)NAN;
}

/* Mean level over that time, from the steps of the last worker, which holds the dose. Steps of
 * unknown level do not count. */
static double held_dose(const struct arm *arm, const struct observation *observation)
{
    uint64_t from_ns, to_ns;
    double sum = 0, ns = 0;
    if (!arm->plan.has_dose || !observation->nworkers)
        return NAN;
    find_measured(observation, &from_ns, &to_ns);
    const struct worker_result *worker = &observation->workers[observation->nworkers - 1];
    for (size_t i = 0; i < worker->nsamples; i++) {
        const struct sample *sample = &worker->samples[i];
        double begin = fmax((double)sample->start_ns, (double)from_ns);
        double end = fmin((double)(sample->start_ns + sample->elapsed_ns), (double)to_ns);
        if (isnan(sample->rate))
            continue;
        sum += sample->rate * fmax(end - begin, 0);
        ns += fmax(end - begin, 0);
    }
    return ratio(sum, ns);
}

/* Sums over the foreground workers; the caller turns the sums into means. */
struct totals {
    unsigned workers, devices;
    double gpu_busy, pages_counted, pages_remote;
    double slowest; /* the lowest rate of a worker: not a sum */
};

static void add_stages(const struct worker_result *worker, struct round_fields *fields)
{
    const struct stage_sums *stages = &worker->stages;
    for (unsigned i = 0; i < BENCH_STAGES; i++)
        fields->stage_time[i] += ratio((double)stages->ns[i] * 1e-9, (double)stages->iters);
    fields->stage_cost =
        fmax(fields->stage_cost,
             stages->iters ? ratio(stages->cost_ns * 1e-9, worker_elapsed_s(worker)) : (double)NAN);
}

static void add_worker(const struct result *result, const struct arm *arm,
                       const struct worker_result *worker, const struct plan_worker *planned,
                       struct round_fields *fields, struct totals *totals)
{
    double steps = worker_steps(worker);
    totals->workers++;
    fields->steps = totals->workers == 1 || steps < fields->steps ? steps : fields->steps;
    double rate = rounds_worker_rate(arm->bench, worker);
    fields->throughput += rate;
    totals->slowest = fmin(totals->slowest, rate);
    for (const struct usage_field *field = usage_fields; field->name; field++)
        *usage_at(&fields->usage, field) +=
            ratio(usage_get(&worker->usage, field), field->per_step ? steps : 1);
    add_stages(worker, fields);
    fields->thread_instructions +=
        ratio(ratio(worker->usage.instructions, worker->usage.team_threads), steps);
    if (has_device(arm_device(result, arm), planned)) {
        totals->devices++;
        totals->gpu_busy += worker_gpu_busy(worker);
    }
    if (binds_memory(planned))
        count_pages(worker, planned, &totals->pages_counted, &totals->pages_remote);
}

/*
 * A thread that the hypervisor takes off its CPU is neither running nor in a run queue: its time
 * counts as blocked. This spreads the stolen time of all CPUs in use over the threads on them. It
 * is an upper bound, as other threads may have borne part of the stolen time.
 */
static double stolen_s(const struct arm *arm, const struct observation *observation,
                       const struct usage *usage)
{
    struct bitset cpus = {0};
    double threads = 0;
    for (unsigned i = 0; i < observation->nworkers; i++) {
        const struct plan_worker *planned = observation_planned(arm, observation, i);
        if (!planned)
            continue;
        bitset_or(&cpus, &planned->cpus);
        threads += planned->threads;
    }
    double stolen = ratio(observation->steal * bitset_count(&cpus), threads) * usage->wall_s;
    return stolen > usage->blocked_s ? fmax(usage->blocked_s, 0) : stolen;
}

/* Everything but step_time, which needs the samples in order. */
static void fill_fields(const struct result *result, const struct arm *arm,
                        const struct observation *observation, struct round_fields *fields)
{
    struct totals totals = {.slowest = INFINITY};
    *fields = (struct round_fields){
        .round = observation->round,
        .status = observation->status,
        .steal = observation->steal,
        .foreign_cpu = observation->foreign_cpu,
        .psi_cpu_some = observation->psi_cpu_some,
        .gpu_clock_mhz = observation->gpu_clock_mhz,
        .gpu_temp_c = observation->gpu_temp_c,
        .stage_cost = NAN,
        .background_rate = background_rate(observation),
        .dose = held_dose(arm, observation),
    };
    for (unsigned i = 0; i < observation->nworkers; i++) {
        const struct plan_worker *planned = observation_planned(arm, observation, i);
        const struct worker_result *worker = &observation->workers[i];
        if (planned && !worker->background && usable(worker->status))
            add_worker(result, arm, worker, planned, fields, &totals);
    }
    /* A sum that lacks a worker is not the throughput of the arm. */
    if (totals.workers != arm->workers)
        fields->throughput = fields->steps = NAN;
    fields->worst_worker =
        totals.workers > 1 ? ratio(totals.slowest * totals.workers, fields->throughput) : NAN;
    if (arm_jobs(result, arm)) {
        fields->throughput = jobs_throughput(result, arm, observation);
        fields->worst_worker = NAN;
    }
    for (const struct usage_field *field = usage_fields; field->name; field++)
        *usage_at(&fields->usage, field) = ratio(usage_get(&fields->usage, field), totals.workers);
    for (unsigned i = 0; i < BENCH_STAGES; i++)
        fields->stage_time[i] = ratio(fields->stage_time[i], totals.workers);
    fields->stolen_s = stolen_s(arm, observation, &fields->usage);
    fields->thread_instructions = ratio(fields->thread_instructions, totals.workers);
    fields->gpu_busy = ratio(totals.gpu_busy, totals.devices);
    fields->pages_remote = ratio(totals.pages_remote, totals.pages_counted);
}

/* Seconds per step of the worker's samples; returns how many. `out` NULL only counts. */
static size_t list_steps(const struct worker_result *worker, double *out)
{
    size_t n = 0;
    if (worker->background || !usable(worker->status))
        return 0;
    for (size_t i = 0; i < worker->nsamples; i++) {
        const struct sample *sample = &worker->samples[i];
        if (!sample->iters)
            continue;
        if (out)
            out[n] = (double)sample->elapsed_ns * 1e-9 / (double)sample->iters;
        n++;
    }
    return n;
}

/*
 * Appends the steps of all workers. Returns the median over workers of their medians: in a median
 * over all steps, a worker that is four times slower would have a quarter of the others' weight.
 */
static double take_steps(const struct observation *observation, struct arm_rounds *rounds,
                         double *medians)
{
    size_t workers = 0;
    for (unsigned w = 0; w < observation->nworkers; w++) {
        double *steps = rounds->steps + rounds->nsteps;
        size_t n = list_steps(&observation->workers[w], steps);
        if (!n)
            continue;
        n = stats_sort(steps, n);
        medians[workers++] = stats_median(steps, n);
        rounds->nsteps += n;
    }
    return stats_median(medians, stats_sort(medians, workers));
}

/* The longest time that a censored step of this arm ran; 0 = none. */
static double longest_censored_s(const struct arm *arm)
{
    double longest = 0;
    for (size_t i = 0; i < arm->nobservations; i++) {
        const struct observation *observation = &arm->observations[i];
        for (unsigned w = 0; w < observation->nworkers; w++) {
            const struct worker_result *worker = &observation->workers[w];
            if (worker->censored && worker->nsamples && !worker->background)
                longest =
                    fmax(longest, (double)worker->samples[worker->nsamples - 1].elapsed_ns * 1e-9);
        }
    }
    return longest;
}

static const char *censored_reason(const struct arm *arm)
{
    return str_fmt("more than %s: some %ss did not end within the limit%s",
                   units_seconds(longest_censored_s(arm)), bench_step_name(arm->bench),
                   arm->bench->rate_unit ? ", and gave no rate"
                                         : "; times are lower bounds, rates upper bounds");
}

/* Sets the worst status of the arm's rounds, and the reason of the first round that has it. */
static void judge_arm(const struct arm *arm, struct arm_rounds *rounds)
{
    const struct observation *worst = NULL;
    unsigned times = 0;
    for (size_t i = 0; i < arm->nobservations; i++) {
        const struct observation *observation = &arm->observations[i];
        if (!worst || observation->status > worst->status) {
            worst = observation;
            times = 0;
        }
        times += observation->status == worst->status;
    }
    if (!worst) {
        rounds->status = STATUS_SKIPPED;
        text_set(rounds->reason, "no round of it was finished");
        return;
    }
    rounds->status = worst->status;
    if (worst->status == STATUS_OK)
        return;
    const char *censored;
    const char *which =
        times < arm->nobservations ? str_fmt("%u of %zu rounds: ", times, arm->nobservations) : "";
    const char *why = worst->reason[0] ? worst->reason : "no reason was given";
    if (worst->status == STATUS_CENSORED) {
        censored = censored_reason(arm);
        why = censored;
    }
    text_set(rounds->reason, "%s%.200s", which, why);
}

static double median_throughput(const struct arm_rounds *rounds, double *scratch)
{
    for (size_t i = 0; i < rounds->n; i++)
        scratch[i] = rounds->fields[i].throughput;
    return stats_median(scratch, stats_sort(scratch, rounds->n));
}

static int summarise_rounds(const struct result *result, const struct arm *arm,
                            struct arm_rounds *rounds, struct err *err)
{
    size_t samples = 0, workers = 0;
    for (size_t i = 0; i < arm->nobservations; i++) {
        const struct observation *observation = &arm->observations[i];
        for (unsigned w = 0; w < observation->nworkers; w++)
            samples += list_steps(&observation->workers[w], NULL);
        workers = observation->nworkers > workers ? observation->nworkers : workers;
    }
    rounds->fields = calloc(arm->nobservations + 1, sizeof(*rounds->fields));
    rounds->steps = calloc(samples + 1, sizeof(*rounds->steps));
    double *medians = calloc(workers + 1, sizeof(*medians));
    double *rates = calloc(arm->nobservations + 1, sizeof(*rates));
    int rc = rounds->fields && rounds->steps && medians && rates
                 ? 0
                 : err_set(err, -ENOMEM, "out of memory for %zu samples", samples);

    for (size_t i = 0; i < arm->nobservations && !rc; i++) {
        const struct observation *observation = &arm->observations[i];
        if (!usable(observation->status))
            continue;
        struct round_fields *fields = &rounds->fields[rounds->n++];
        fill_fields(result, arm, observation, fields);
        fields->step_time = take_steps(observation, rounds, medians);
    }
    if (!rc) {
        rounds->nsteps = stats_sort(rounds->steps, rounds->nsteps);
        rounds->rate = median_throughput(rounds, rates);
    }
    free(rates);
    free(medians);
    return rc;
}

/* The arm whose observations `arm` shares: itself, or the first baseline with the same plan. */
static size_t source_of(const struct result *result, size_t arm)
{
    while (result->arms[arm].same_as >= 0 && (size_t)result->arms[arm].same_as < arm)
        arm = (size_t)result->arms[arm].same_as;
    return arm;
}

static int summarise_arm(const struct result *result, size_t index, struct arm_rounds *rounds,
                         struct err *err)
{
    const struct arm *arm = &result->arms[index];
    rounds->rate = NAN;
    text_set(rounds->rate_unit, "%s", bench_rate_unit(arm->bench));
    if (arm->plan.status == PLAN_SKIPPED) {
        rounds->source = index;
        rounds->status = STATUS_SKIPPED;
        text_set(rounds->reason, "%s", arm->plan.reason);
    } else {
        rounds->source = source_of(result, index);
        arm = &result->arms[rounds->source];
        judge_arm(arm, rounds);
        int rc = summarise_rounds(result, arm, rounds, err);
        if (rc)
            return rc;
    }
    (void)text_one_line(rounds->reason);
    return 0;
}

int rounds_make(const struct result *result, struct rounds *rounds, struct err *err)
{
    *rounds = (struct rounds){0};
    rounds->arms = calloc(result->narms + 1, sizeof(*rounds->arms));
    if (!rounds->arms)
        return err_set(err, -ENOMEM, "out of memory for %zu arms", result->narms);
    rounds->narms = result->narms;
    for (size_t i = 0; i < result->narms; i++) {
        int rc = summarise_arm(result, i, &rounds->arms[i], err);
        if (rc)
            return rc;
    }
    baseline_choose(result, rounds);
    return 0;
}

void rounds_free(struct rounds *rounds)
{
    if (!rounds)
        return;
    for (size_t i = 0; rounds->arms && i < rounds->narms; i++) {
        free(rounds->arms[i].fields);
        free(rounds->arms[i].steps);
    }
    free(rounds->arms);
    *rounds = (struct rounds){0};
}

const char *rounds_format_shared(const struct result *result, const struct rounds *rounds,
                                 size_t arm)
{
    const struct arm *of = &result->arms[arm];
    const struct arm *source = &result->arms[rounds->arms[arm].source];
    const char *planned_workers = "";
    if (source->planned_workers != of->planned_workers)
        planned_workers = str_fmt(" of %u workers", source->planned_workers);
    if (source != of)
        return str_fmt("same plan as %s%s, measured once", placement_infos[source->placement].name,
                       planned_workers);
    return "";
}

const struct round_fields *rounds_find(const struct rounds *rounds, int arm, unsigned round)
{
    if (arm < 0)
        return NULL;
    const struct arm_rounds *of = &rounds->arms[arm];
    size_t i = round < of->n ? round + 1 : of->n;
    while (i && of->fields[i - 1].round > round)
        i--;
    return i && of->fields[i - 1].round == round ? &of->fields[i - 1] : NULL;
}
