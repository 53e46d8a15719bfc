#include "harness/verdict/runs/predict.h"

#include <errno.h>
#include <math.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/metric.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/runs/sizing.h"

/* ---- the arms ---- */

/* More rounds would tell less than the model's own error. */
enum { ROUNDS_MOST = 5 };
/* Two workers that collapse need not be measured in full: how much they lose is a bound anyway. */
static const double pair_limit_share = 0.15;

static double cpus_of(const struct arm *arm, unsigned worker)
{
    return worker < arm->plan.nworkers ? bitset_count(&arm->plan.workers[worker].cpus)
                                       : (double)NAN;
}

/* One worker alone on all cores, half, a quarter, ..., and two on a quarter at most. Then one on
 * all once more, beside what is verified: has the machine changed? */
static int add_reference(struct predict *predict, const struct topo *topo,
                         const struct arms_request *request, enum placement placement,
                         struct result *result, struct err *err)
{
    struct sizing_arm arm = {placement, 1, sizing_count_cores(topo, request, placement, 1, err)};
    const unsigned most = arm.cores;
    unsigned few = 0, n = 0;
    int rc = most ? 0 : -EINVAL;
    for (; !rc && arm.cores && n < PREDICT_CORES; arm.cores /= 2, n++) {
        rc = sizing_add_arm(topo, request, &arm, &predict->variants[n], result, err);
        few = arm.cores <= most / 4 && (!few || arm.cores >= most / 8) ? arm.cores : few;
    }
    arm = (struct sizing_arm){placement, 2, few};
    if (!rc && few)
        rc = sizing_add_arm(topo, request, &arm, &predict->few, result, err);
    arm = (struct sizing_arm){placement, 1, 0};
    predict->again.is_fresh = true;
    return rc ? rc : sizing_add_arm(topo, request, &arm, &predict->again, result, err);
}

static bool is_cell(const struct arm *arm)
{
    return !arm->is_control && !arm->variant && arm->planned_workers > 1;
}

/* True if fewer workers are impossible under its placement. */
static bool is_known_impossible(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (is_cell(&result->arms[i]) && result->arms[i].plan.status != PLAN_OK &&
            result->arms[i].placement == arm->placement &&
            result->arms[i].planned_workers < arm->planned_workers)
            return true;
    return false;
}

/* Of a placement that is impossible only the first is kept, which says why. */
static int add_cells(const struct topo *topo, const struct arms_request *like,
                     struct result *result, struct err *err)
{
    const size_t before = result->narms;
    int rc = arms_add(topo, like, result, err);
    size_t kept = before;
    for (size_t i = before; i < result->narms; i++) {
        if (is_known_impossible(result, &result->arms[i]))
            plan_free(&result->arms[i].plan);
        else
            result->arms[kept++] = result->arms[i];
    }
    result->narms = kept;
    return rc;
}

int predict_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                    struct result *result, struct err *err)
{
    static const bool optional[PLACEMENTS] = {[0 ... PLACEMENTS - 1] = true};
    struct predict *predict = arg;
    enum placement reference = PLACE_PARTITION;
    int rc = sizing_find_placement(request, &reference, err);
    struct arms_request like = *request;
    like.optional = optional;
    if (!rc)
        rc = add_reference(predict, topo, &like, reference, result, err);
    like.nworkers = 1;
    for (unsigned workers = 2, i = 0; !rc; i++) { /* two of each, then those that were asked for */
        like.workers = &workers;
        rc = add_cells(topo, &like, result, err);
        while (i < request->nworkers && request->workers[i] <= 2)
            i++;
        if (i >= request->nworkers)
            break;
        workers = request->workers[i];
    }
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[i];
        arm->idle = arm->planned_workers > 2 || arm_is_fresh(arm);
        arm->limit_s = is_cell(arm) ? pair_limit_share * predict->max_time_s : 0;
    }
    return rc;
}

/* ---- the model ---- */

/*
 * Standard deviations of predictions from measurements, as logarithms, besides the noise of the
 * profile: for three workers, and what each doubling adds. From 12 cells on 2 CPUs; not yet fitted
 * on larger machines.
 */
static const double own_error = 0.04, other_error = 0.07, error_of_doubling = 0.03;
/* More workers than CPUs: taking turns cost up to a third of what two workers did. */
static const double turns_error = 0.15;
/* Standard deviations of a normal distribution: for an interval, and for a bound. */
static const double ninety = 1.645, ninety_nine = 2.326;

struct point {
    double cpus, busy;  /* busy: of these, on average */
    double rate, error; /* error: of the mean, as a logarithm */
};

struct model {
    const struct analysis *analysis;
    size_t n;
    struct point alone[PREDICT_CORES]; /* ascending */
    struct point pair[PLACEMENTS];     /* two workers; rate NaN = not measured */
    bool collapses[PLACEMENTS];
    enum placement reference;
    double beta, gamma, gpu_share, gpu_part;
};

static double fewest_cpus(const struct arm *arm)
{
    double least = INFINITY;
    for (unsigned w = 0; w < arm->planned_workers; w++)
        least = fmin(least, cpus_of(arm, w));
    return least;
}

/* Median over rounds; the error is moderated as the judge of runs does (evidence.h). */
static struct point point_of(const struct analysis *analysis, const struct arm *arm)
{
    const size_t index = (size_t)(arm - analysis->result->arms);
    const struct evidence_group group = evidence_find_group(analysis, index, VALUE_RATE);
    struct point point = {.cpus = cpus_of(arm, 0), .rate = NAN, .error = NAN};
    struct moments moments = {0};
    if (analysis->rounds.arms[index].status > STATUS_CENSORED || !group.n)
        return point;
    for (size_t i = 0; i < group.n; i++)
        moments_add(&moments, log(group.values[i].value));
    const double before = RUN_SPREAD_BEFORE * RUN_SPREAD_BEFORE * RUN_SPREAD_BEFORE_DF;
    const double n = (double)group.n, freedom = n - 1 + RUN_SPREAD_BEFORE_DF;
    const double on = rows_median(&analysis->rows, arm, "oncpu_per_step") /
                      rows_median(&analysis->rows, arm, "step_time_mean");
    point.busy = point.cpus * (on < 1 ? on : 1);
    point.rate = analysis->rounds.arms[index].rate;
    point.error = sqrt((moments.squares + before) / freedom / n);
    return point;
}

/* One worker alone on all CPUs. */
static const struct point *whole(const struct model *model)
{
    return &model->alone[model->n - 1];
}

/* The last of the points at or below so many CPUs, or the first. */
static const struct point *point_at(const struct model *model, double cpus)
{
    const struct point *at = model->alone;
    while (at < whole(model) && at[1].cpus <= cpus)
        at++;
    return at;
}

/* Rate of one worker alone on so many CPUs, which may be a part of one. */
static double alone_on(const struct model *model, double cpus)
{
    const struct point *at = point_at(model, cpus);
    if (cpus <= at->cpus)
        return at->rate * cpus / at->cpus;
    if (at == whole(model))
        return at->rate;
    const double part = log(cpus / at->cpus) / log(at[1].cpus / at->cpus);
    return exp(log(at->rate) + part * log(at[1].rate / at->rate));
}

/* How many of these CPUs it keeps busy, as a share of all CPUs. */
static double busy_on(const struct model *model, double cpus)
{
    const struct point *at = point_at(model, cpus);
    double share = at->busy / at->cpus;
    if (cpus > at->cpus && at < whole(model))
        share += (at[1].busy / at[1].cpus - share) * (cpus - at->cpus) / (at[1].cpus - at->cpus);
    return share * cpus / whole(model)->cpus;
}

/* How much longer a step takes while k workers share its GPU. */
static double gpu_slowdown(const struct model *model, unsigned k, double share)
{
    double queue = 0, time = 1;
    if (isnan(share))
        return 1;
    for (unsigned j = 1; j <= k; j++) {
        const double there = share * (1 + model->gpu_part * queue);
        time = 1 - share + there;
        queue = j * there / time;
    }
    return time;
}

/* `others`: CPUs that they keep busy, as a share of all, less what they lose themselves. */
static double shared_slowdown(const struct model *model, double others)
{
    return others > 0 ? 1 + model->beta * pow(others, model->gamma) : 1;
}

static unsigned on_a_gpu(const struct arm *arm)
{
    unsigned most = 1;
    for (unsigned w = 0; w < arm->plan.nworkers; w++) {
        unsigned with = 0;
        for (unsigned v = 0; v < arm->plan.nworkers; v++)
            with += arm->plan.workers[v].gpu >= 0 &&
                    arm->plan.workers[v].gpu == arm->plan.workers[w].gpu;
        most = with > most ? with : most;
    }
    return most;
}

/* What sharing, apart from that of a GPU, costs each of two such workers, and the pressure of
 * one. */
static bool read_pair(const struct model *model, const struct arm *arm, double *slowdown,
                      double *pressure)
{
    const struct point pair = point_of(model->analysis, arm);
    double alone = 0;
    for (unsigned w = 0; w < 2; w++)
        alone += alone_on(model, cpus_of(arm, w));
    *slowdown = alone / pair.rate / gpu_slowdown(model, on_a_gpu(arm), model->gpu_share);
    *pressure = busy_on(model, cpus_of(arm, 0)) * pair.rate / alone;
    return !isnan(*slowdown);
}

/* The GPU's queue explains no more of the pair's loss than there is. */
static void fit_gpu(struct model *model, const struct arm *pair)
{
    const double share = model->gpu_share;
    const struct point two = point_of(model->analysis, pair);
    const double alone = alone_on(model, cpus_of(pair, 0)) + alone_on(model, cpus_of(pair, 1));
    model->gpu_part = 1;
    if (on_a_gpu(pair) > 1 && share > 0)
        model->gpu_part = fmin(fmax(alone / two.rate - 1, 0) / (share * share), 1);
}

/* beta and gamma, so that both pairs come out as measured, as far as noise allows. */
static void fit_shared(struct model *model, const struct arm *half, const struct arm *few)
{
    const double noise = 0.01, gamma_least = 0.7, gamma_most = 1.5;
    double loss, pressure, few_loss, few_pressure;
    model->gamma = 1;
    model->beta = 0;
    if (!read_pair(model, half, &loss, &pressure))
        return;
    loss -= 1;
    if (loss <= noise) { /* nothing lost, or more done than alone: the same for more workers */
        model->gamma = 0;
        model->beta = loss;
        return;
    }
    if (few && read_pair(model, few, &few_loss, &few_pressure) && few_pressure < pressure)
        model->gamma = fmin(
            fmax(log(loss / fmax(few_loss - 1, noise)) / log(pressure / few_pressure), gamma_least),
            gamma_most);
    model->beta = loss / pow(pressure, model->gamma);
}

static void insert_alone(struct model *model, struct point point)
{
    size_t at = model->n;
    if (model->n == PREDICT_CORES || isnan(point.rate))
        return;
    for (; at && model->alone[at - 1].cpus > point.cpus; at--)
        model->alone[at] = model->alone[at - 1];
    model->alone[at] = point;
    model->n++;
}

/* False: the profile lacks what a prediction needs. */
static bool read_model(const struct analysis *analysis, struct model *model)
{
    const struct result *result = analysis->result;
    const struct arm *pairs[PLACEMENTS] = {NULL}, *few = NULL, *all = NULL;
    *model = (struct model){.analysis = analysis, .gpu_share = NAN, .gpu_part = 1};
    for (size_t p = 0; p < PLACEMENTS; p++)
        model->pair[p].rate = NAN;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->is_control || arm->plan.status != PLAN_OK || arm->planned_workers > 2 ||
            arm_is_fresh(arm))
            continue;
        if (arm->planned_workers == 1) {
            model->reference = arm->placement;
            insert_alone(model, point_of(analysis, arm));
            all = !all || cpus_of(arm, 0) > cpus_of(all, 0) ? arm : all;
        } else if (arm->variant)
            few = arm;
        else {
            pairs[arm->placement] = arm;
            model->pair[arm->placement] = point_of(analysis, arm);
        }
    }
    const struct arm *half = pairs[model->reference];
    const struct point *pair = &model->pair[model->reference];
    if (!model->n || !half || isnan(pair->rate))
        return false;
    model->gpu_share = rows_median(&analysis->rows, all, "gpu_busy");
    fit_gpu(model, half);
    fit_shared(model, half, few);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (is_cell(arm) && plan_is_oversubscribed(&arm->plan) &&
            model->pair[arm->placement].rate < PREDICT_COLLAPSE * pair->rate)
            model->collapses[arm->placement] = true;
    }
    return true;
}

/* All workers of the reference with these CPUs each, together. */
static double reference_rate(const struct model *model, const struct arm *arm, double *slowdown)
{
    enum { STEPS = 60 };
    const unsigned n = arm->planned_workers, with = on_a_gpu(arm);
    const bool has_own = placement_infos[arm->placement].disjoint;
    double alone = 0, busy = 0, slowest = INFINITY;
    for (unsigned w = 0; w < n; w++) {
        const double cpus = has_own ? cpus_of(arm, w) : whole(model)->cpus / n;
        alone += alone_on(model, cpus);
        slowest = fmin(slowest, alone_on(model, cpus));
        busy += busy_on(model, cpus);
    }
    if (arm->bench->gang)
        alone = n * slowest;
    const double share = model->gpu_share * alone / n / whole(model)->rate;
    const double gpu = gpu_slowdown(model, with, share), others = busy * (n - 1) / n;
    *slowdown = 1;
    for (unsigned i = 0; i < STEPS; i++) /* halfway each time, so that it does not swing */
        *slowdown = (*slowdown + shared_slowdown(model, others / (*slowdown * gpu))) / 2;
    return alone / (*slowdown * gpu);
}

/* The most that the GPUs of these workers do, at one worker's use of them. */
static double gpu_most(const struct model *model, const struct arm *arm)
{
    const double gpus = ceil((double)arm->planned_workers / on_a_gpu(arm));
    return model->gpu_share > 0 ? gpus * whole(model)->rate / model->gpu_share : (double)INFINITY;
}

static enum predict_limit limit_of(const struct model *model, const struct arm *arm, double rate,
                                   double slowdown)
{
    const double near = 0.9, much = 1.15, grows = 1.4;
    const double cpus = whole(model)->cpus / arm->planned_workers;
    if (rate >= near * gpu_most(model, arm))
        return PREDICT_BY_GPU;
    if (model->collapses[arm->placement])
        return PREDICT_BY_WAITING;
    if (alone_on(model, cpus) > grows * alone_on(model, cpus / 2))
        return PREDICT_BY_CORES;
    return slowdown > much ? PREDICT_BY_SHARED : PREDICT_BY_ITSELF;
}

static void predict_cell(const struct model *model, struct predict_cell *cell)
{
    const struct arm *arm = cell->arm;
    const struct point *pair = &model->pair[arm->placement];
    const struct point *reference = &model->pair[model->reference];
    const bool is_own = arm->placement == model->reference;
    const double one = whole(model)->rate;
    double slowdown;
    cell->rate = reference_rate(model, arm, &slowdown);
    if (!is_own)
        cell->rate *= pair->rate / reference->rate;
    cell->rate = fmin(cell->rate, gpu_most(model, arm));
    cell->limit = limit_of(model, arm, cell->rate, slowdown);
    cell->is_bound = model->collapses[arm->placement];
    const double cpus = placement_infos[arm->placement].disjoint
                            ? fewest_cpus(arm)
                            : whole(model)->cpus / arm->planned_workers;
    cell->times_one = alone_on(model, cpus) * arm->planned_workers;
    cell->line = one + (arm->planned_workers - 1) * (pair->rate - one);
    const double doublings = log2(arm->planned_workers / 2.0);
    const double own = (is_own ? own_error : other_error) + error_of_doubling * doublings;
    const double turns = arm->planned_workers > whole(model)->cpus ? turns_error : 0;
    const double error = sqrt(own * own + turns * turns + pair->error * pair->error +
                              model->alone[0].error * model->alone[0].error);
    cell->low = cell->is_bound ? 0 : cell->rate * exp(-ninety * error);
    cell->high = cell->rate * exp((cell->is_bound ? ninety_nine : ninety) * error);
    if (cell->is_bound)
        cell->rate = cell->high;
}

/* ---- the prediction ---- */

static struct predict_errors errors_of(double *magnitudes, size_t n)
{
    n = stats_sort(magnitudes, n);
    if (!n)
        return (struct predict_errors){NAN, NAN, NAN};
    return (struct predict_errors){stats_median(magnitudes, n),
                                   stats_nearest_rank(magnitudes, n, 90), magnitudes[n - 1]};
}

static void read_errors(struct prediction *prediction)
{
    double own[PREDICT_CELLS], times_one[PREDICT_CELLS], line[PREDICT_CELLS];
    size_t n = 0;
    for (size_t i = 0; i < prediction->n; i++) {
        struct predict_cell *cell = &prediction->cell[i];
        const bool known = !cell->is_profile && !isnan(cell->measured) && !isnan(cell->rate);
        cell->error = known && !cell->is_bound ? cell->rate / cell->measured - 1 : (double)NAN;
        prediction->bounds += known && cell->is_bound;
        prediction->bounds_held += known && cell->is_bound && cell->measured <= cell->rate;
        if (isnan(cell->error))
            continue;
        prediction->inside += cell->measured >= cell->low && cell->measured <= cell->high;
        own[n] = fabs(cell->error);
        times_one[n] = fabs(cell->times_one / cell->measured - 1);
        line[n++] = fabs(cell->line / cell->measured - 1);
    }
    prediction->verified = n;
    prediction->errors = errors_of(own, n);
    prediction->times_one = errors_of(times_one, n);
    prediction->line = errors_of(line, n);
}

static void find_best(struct prediction *prediction)
{
    const struct predict_cell *cells = prediction->cell, *before = NULL;
    prediction->best = prediction->fewest = prediction->less = prediction->n;
    for (size_t i = 0; i < prediction->n; i++)
        if (!cells[i].is_bound && !isnan(cells[i].rate) &&
            (prediction->best == prediction->n || cells[i].rate > cells[prediction->best].rate))
            prediction->best = i;
    for (size_t i = 0; i < prediction->n && prediction->best < prediction->n; i++) {
        const struct predict_cell *cell = &cells[i], *best = &cells[prediction->best];
        if (isnan(cell->rate) || cell->arm->placement != best->arm->placement)
            continue;
        if (prediction->fewest == prediction->n && cell->rate >= 0.98 * best->rate)
            prediction->fewest = i;
        const unsigned more =
            before ? cell->arm->planned_workers - before->arm->planned_workers : 0;
        if (before && prediction->less == prediction->n &&
            cell->rate - before->rate < 0.5 * more * prediction->one)
            prediction->less = i;
        before = cell;
    }
}

bool predict_read(const struct analysis *analysis, struct prediction *prediction)
{
    const struct result *result = analysis->result;
    struct model model;
    *prediction = (struct prediction){0};
    if (result->purpose != PURPOSE_PREDICT || !read_model(analysis, &model))
        return false;
    prediction->one = whole(&model)->rate;
    prediction->beta = model.beta;
    prediction->gamma = model.gamma;
    prediction->gpu_share = model.gpu_share;
    prediction->drift = NAN;
    for (size_t i = 0; i < result->narms && prediction->n < PREDICT_CELLS; i++) {
        const struct arm *arm = &result->arms[i];
        const bool is_one = arm->planned_workers == 1 && !arm_is_fresh(arm) &&
                            cpus_of(arm, 0) >= whole(&model)->cpus;
        if (arm_is_fresh(arm))
            prediction->drift = point_of(analysis, arm).rate / prediction->one;
        if (arm->is_control || arm->plan.status != PLAN_OK || !(is_cell(arm) || is_one))
            continue;
        struct predict_cell *cell = &prediction->cell[prediction->n++];
        const struct point seen = point_of(analysis, arm);
        *cell = (struct predict_cell){.arm = arm,
                                      .is_profile = arm->planned_workers <= 2,
                                      .measured = seen.rate,
                                      .error = NAN};
        if (!cell->is_profile) {
            predict_cell(&model, cell);
            continue;
        }
        cell->rate = seen.rate;
        cell->low = seen.rate * exp(-ninety * seen.error);
        cell->high = seen.rate * exp(ninety * seen.error);
        cell->is_bound = analysis->rounds.arms[i].status == STATUS_CENSORED;
        cell->times_one = cell->line = NAN;
        cell->limit = limit_of(&model, arm, seen.rate, 1);
    }
    find_best(prediction);
    read_errors(prediction);
    return true;
}

bool predict_next(struct predict *predict, const struct analysis *analysis, struct result *result)
{
    struct prediction prediction;
    if (predict->is_made)
        return false;
    result->rounds_planned = result->rounds_done;
    if (!predict_read(analysis, &prediction))
        return false;
    if (result->rounds_done < ROUNDS_MOST &&
        result_spent_s(result, 0) + result_spent_s(result, result->rounds_done - 1) <=
            predict->max_time_s) {
        result->rounds_planned++;
        return false;
    }
    predict->is_made = true;
    result->rounds_planned += predict->verify_rounds;
    for (size_t i = 0; i < result->narms; i++)
        result->arms[i].idle =
            result->arms[i].planned_workers <= 2 && !arm_is_fresh(&result->arms[i]);
    return true;
}

const char *predict_limit_name(enum predict_limit limit)
{
    static const char *const names[] = {[PREDICT_BY_CORES] = "cores",
                                        [PREDICT_BY_SHARED] = "shared memory",
                                        [PREDICT_BY_GPU] = "the GPU",
                                        [PREDICT_BY_WAITING] = "waiting",
                                        [PREDICT_BY_ITSELF] = "itself"};
    return names[limit];
}

/* ---- the findings ---- */

static void add_best(const struct analysis *analysis, const struct prediction *prediction,
                     struct findings *findings)
{
    const struct predict_cell *best = &prediction->cell[prediction->fewest];
    const struct arm *arm = best->arm;
    struct finding finding = {.id = "predict",
                              .metric = METRIC_RATE,
                              .value = best->rate,
                              .low = best->low,
                              .high = best->high};
    text_set(finding.unit, "%s", bench_rate_unit(arm->bench));
    text_set(finding.sentence, "%u worker%s under %s %s most with the fewest: %s %s",
             arm->planned_workers, arm->planned_workers == 1 ? "" : "s",
             placement_infos[arm->placement].name, best->is_profile ? "did" : "will do",
             units_si(best->rate), bench_rate_unit(arm->bench));
    if (!best->is_profile)
        text_add(finding.sentence, " (90%% %s to %s)", units_si(best->low), units_si(best->high));
    text_add(finding.sentence, ", %s one worker with all CPUs. It is limited by %s.",
             advice_format_ratio(best->rate / prediction->one), predict_limit_name(best->limit));
    if (advice_may_advise(arm->placement))
        (void)advice_command(analysis->result, arm, finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
    if (prediction->less < prediction->n)
        findings_putf(
            findings,
            &(struct finding){.id = "predict_less", .value = NAN, .low = NAN, .high = NAN},
            "From %u workers on, the next brings less than half of what one worker with "
            "all CPUs does.",
            prediction->cell[prediction->less].arm->planned_workers);
}

static const char *format_errors(const struct predict_errors *errors)
{
    return str_fmt("median %s, nine in ten %s, worst %s", text_percent(errors->median),
                   text_percent(errors->ninety), text_percent(errors->worst));
}

/* Rounds of one worker alone differ by less. */
static const double drift_least = 0.05;

void predict_judge(const struct analysis *analysis, struct findings *findings)
{
    struct prediction prediction;
    if (!predict_read(analysis, &prediction) || prediction.fewest == prediction.n) {
        findings_putf(findings,
                      &(struct finding){.id = "predict_none",
                                        .severity = FINDING_BAD,
                                        .value = NAN,
                                        .low = NAN,
                                        .high = NAN},
                      "Nothing can be predicted: that needs the rate of one worker alone, and of "
                      "two under a placement that binds them.");
        return;
    }
    add_best(analysis, &prediction, findings);
    const struct finding finding = {.id = "predict_error",
                                    .metric = "prediction_error",
                                    .unit = "ratio",
                                    .value = prediction.errors.median,
                                    .low = NAN,
                                    .high = NAN};
    if (prediction.verified)
        findings_putf(findings, &finding,
                      "Of %zu that were measured afterwards, the error is %s; %zu are in their "
                      "interval. N times one worker: %s; the line through one and two: %s.",
                      prediction.verified, format_errors(&prediction.errors), prediction.inside,
                      format_errors(&prediction.times_one), format_errors(&prediction.line));
    if (fabs(prediction.drift - 1) >= drift_least)
        findings_putf(findings,
                      &(struct finding){.id = "predict_drift",
                                        .severity = FINDING_DOUBT,
                                        .metric = METRIC_RATE,
                                        .unit = "ratio",
                                        .value = prediction.drift,
                                        .low = NAN,
                                        .high = NAN},
                      "Meanwhile one worker alone did %s what it did before: so much of the errors "
                      "is the machine's.",
                      advice_format_ratio(prediction.drift));
    if (prediction.bounds)
        findings_putf(
            findings,
            &(struct finding){.id = "predict_bounds", .value = NAN, .low = NAN, .high = NAN},
            "Of %zu bounds that were measured afterwards, %zu held.", prediction.bounds,
            prediction.bounds_held);
}
