#include "harness/verdict/runs/sizing.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/recommend.h"
#include "harness/verdict/runs/settings.h"

static const double knee_least = 0.1;

double knee_best(const struct knee_point *points, size_t n)
{
    double best = NAN;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, points[i].rate); /* fmax ignores NaN */
    return best;
}

size_t knee_enough(const struct knee_point *points, size_t n, double share)
{
    double best = knee_best(points, n);
    for (size_t i = 0; i < n; i++)
        if (points[i].holds && points[i].rate >= best * (1 - share))
            return i;
    return n;
}

size_t knee_find(const struct knee_point *points, size_t n)
{
    size_t first = 0, last = n, knee = n;
    double highest = knee_least;
    while (first < n && isnan(points[first].rate))
        first++;
    while (last > first && isnan(points[last - 1].rate))
        last--;
    if (last < first + 3)
        return n;
    double best = knee_best(points, n), lowest = points[first].rate;
    double width = (double)points[last - 1].cores - points[first].cores;
    for (size_t i = first; i < last; i++) {
        double x = ((double)points[i].cores - points[first].cores) / width;
        double y = (points[i].rate - lowest) / (best - lowest);
        if (y - x > highest) {
            highest = y - x;
            knee = i;
        }
    }
    return knee;
}

static int parse_cores(const char *text, unsigned *cores, size_t *n, struct err *err)
{
    int64_t counts[SIZING_MOST];
    bool ascending = true;
    *n = settings_parse_counts(text, 1, BITSET_BITS, counts, SIZING_MOST);
    for (size_t i = 0; i < *n; i++) {
        ascending = ascending && (!i || counts[i] > counts[i - 1]);
        cores[i] = (unsigned)counts[i];
    }
    return *n && ascending
               ? 0
               : err_set(err, -EINVAL, "cores '%.60s' is not an ascending list of up to %d counts",
                         text, SIZING_MOST);
}

size_t sizing_choose_cores(unsigned most, unsigned cores[SIZING_MOST])
{
    size_t n = 0;
    for (unsigned count = 1; count < most && n + 1 < SIZING_MOST; count = count < 4 ? count + 1
                                                                          : (count & (count - 1))
                                                                              ? count / 3 * 4
                                                                              : count / 2 * 3)
        cores[n++] = count;
    cores[n++] = most;
    return n;
}

int sizing_find_placement(const struct arms_request *request, enum placement *placement,
                          struct err *err)
{
    for (size_t i = 0; i < request->nplacements; i++)
        if (placement_infos[request->placements[i]].disjoint) {
            *placement = request->placements[i];
            return 0;
        }
    return err_set(err, -EINVAL, "no placement here binds workers to cores of their own");
}

unsigned sizing_count_cores(const struct topo *topo, const struct arms_request *request,
                            enum placement placement, unsigned workers, struct err *err)
{
    struct plan plan;
    struct plan_request one = request->plan;
    one.placement = placement;
    one.workers = workers;
    one.cores_each = PLAN_CORES_ALL;
    unsigned least = 0;
    int rc = plan_make(topo, &one, &plan, err);
    if (!rc && plan.status != PLAN_OK)
        (void)err_set(err, -EINVAL, "%s: %.150s", placement_infos[placement].name, plan.reason);
    for (unsigned w = 0; !rc && w < plan.nworkers; w++) {
        unsigned cores = 0;
        int last = -1;
        for (unsigned i = 0; i < topo->ncpus; i++) {
            bool is_own = bitset_test(&plan.workers[w].cpus, topo->cpus[i].os_cpu);
            cores += is_own && topo->cpus[i].core != last;
            last = is_own ? topo->cpus[i].core : last;
        }
        least = !w || cores < least ? cores : least;
    }
    plan_free(&plan);
    return least;
}

int sizing_add_arm(const struct topo *topo, const struct arms_request *request,
                   const struct sizing_arm *arm, struct variant *variant, struct result *result,
                   struct err *err)
{
    struct arms_request one = *request;
    variant->plan = result->plan;
    variant->plan.cores_each = arm->cores;
    variant_put_name(variant, arm->placement, 0);
    one.variant = variant;
    one.placements = &arm->placement;
    one.workers = &arm->workers;
    one.nplacements = one.nworkers = 1;
    one.plan.cores_each = arm->cores;
    return arms_add(topo, &one, result, err);
}

static int add_arms(struct sizing *sizing, const struct topo *topo,
                    const struct arms_request *request, unsigned workers, struct result *result,
                    struct err *err)
{
    unsigned cores[SIZING_MOST], most;
    size_t n = 0;
    enum placement placement = PLACE_PARTITION;
    int rc = sizing_find_placement(request, &placement, err);
    if (rc)
        return rc;
    most = sizing_count_cores(topo, request, placement, workers, err);
    if (!most)
        return -EINVAL;
    if (sizing->cores)
        rc = parse_cores(sizing->cores, cores, &n, err);
    else
        n = sizing_choose_cores(most, cores);
    if (!rc && workers == 1 && n && cores[n - 1] > most)
        rc = err_set(err, -EINVAL, "a worker alone has %u cores at most here, not %u", most,
                     cores[n - 1]);
    for (size_t i = 0; i < n && !rc && cores[i] <= most; i++) {
        const struct sizing_arm arm = {placement, workers, cores[i]};
        rc = sizing_add_arm(topo, request, &arm, &sizing->variants[sizing->n++], result, err);
    }
    return rc;
}

int sizing_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err)
{
    struct sizing *sizing = arg;
    unsigned workers = request->workers[request->nworkers - 1];
    int rc = add_arms(sizing, topo, request, 1, result, err);
    return rc || workers == 1 ? rc : add_arms(sizing, topo, request, workers, result, err);
}

/* The index of the point for that count; added in order if new. SIZING_MOST = no room. */
static size_t find_point(struct sizing_curves *curves, unsigned cores)
{
    size_t at = 0;
    while (at < curves->n && curves->solo[at].cores < cores)
        at++;
    if (at < curves->n && curves->solo[at].cores == cores)
        return at;
    if (curves->n == SIZING_MOST)
        return SIZING_MOST;
    for (size_t i = curves->n++; i > at; i--) {
        curves->solo[i] = curves->solo[i - 1];
        curves->all[i] = curves->all[i - 1];
    }
    curves->solo[at] = curves->all[at] = (struct knee_point){.cores = cores, .rate = NAN};
    return at;
}

/* The number of GPUs that the arm's workers use in total. */
static unsigned count_gpus(const struct arm *arm)
{
    struct bitset used = {0};
    for (unsigned w = 0; w < arm->plan.nworkers; w++)
        if (arm->plan.workers[w].gpu >= 0)
            bitset_set(&used, (unsigned)arm->plan.workers[w].gpu);
    return bitset_count(&used);
}

static void predict(struct sizing_curves *curves, unsigned gpus)
{
    double errors[SIZING_MOST], best = knee_best(curves->solo, curves->n);
    size_t n = 0;
    for (size_t i = 0; i < curves->n; i++) {
        curves->predicted[i] = curves->workers * curves->solo[i].rate;
        if (gpus && gpus < curves->workers && curves->predicted[i] > gpus * best)
            curves->predicted[i] = gpus * best; /* NaN stays NaN: not measured */
        curves->error[i] = curves->predicted[i] / curves->all[i].rate - 1;
        if (isfinite(curves->error[i]))
            errors[n++] = fabs(curves->error[i]);
    }
    curves->median_error = n ? stats_sort_median(errors, n) : NAN;
    curves->worst_error = n ? errors[n - 1] : NAN;
}

bool sizing_read(const struct analysis *analysis, struct sizing_curves *curves)
{
    const struct result *result = analysis->result;
    unsigned gpus = 0;
    const double share = result->slo ? 1 : SIZING_SHARE; /* the bound alone decides */
    *curves = (struct sizing_curves){.workers = 1};
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->is_control || !arm->variant || !arm->variant->plan.cores_each)
            continue;
        size_t at = find_point(curves, (unsigned)arm->variant->plan.cores_each);
        if (at == SIZING_MOST)
            continue;
        curves->arm = arm;
        /* A count that failed in some rounds is not enough, even if the other rounds were fast. */
        struct knee_point *point = &(arm->planned_workers == 1 ? curves->solo : curves->all)[at];
        point->holds = slo_judge_arm(analysis, arm) == SLO_HOLDS;
        if (analysis->rounds.arms[i].status < STATUS_SKIPPED)
            point->rate = analysis->rounds.arms[i].rate;
        curves->workers =
            arm->planned_workers > curves->workers ? arm->planned_workers : curves->workers;
        gpus = arm->planned_workers > 1 ? count_gpus(arm) : gpus;
    }
    predict(curves, gpus);
    curves->knee = result->slo ? curves->n : knee_find(curves->solo, curves->n);
    curves->enough = knee_enough(curves->solo, curves->n, share);
    curves->knee_all = result->slo ? curves->n : knee_find(curves->all, curves->n);
    curves->enough_all = knee_enough(curves->all, curves->n, share);
    return curves->n > 0;
}

/* "4 cores (knee at 3)". */
static void add_needed(const struct sizing_curves *curves, size_t enough, size_t knee,
                       struct finding *finding)
{
    unsigned cores = curves->solo[enough].cores;
    text_add(finding->sentence, "%u core%s", cores, cores == 1 ? "" : "s");
    if (knee < curves->n)
        text_add(finding->sentence, " (knee at %u)", curves->solo[knee].cores);
}

static void add_enough(const struct sizing_curves *curves, const struct result *result,
                       struct findings *findings)
{
    bool both = curves->workers > 1 && curves->enough_all < curves->n;
    unsigned cores = curves->solo[both ? curves->enough_all : curves->enough].cores;
    struct variant variant = {.plan = result->plan};
    struct arm arm = *curves->arm;
    struct finding finding = {.id = "sizing",
                              .metric = "cores",
                              .unit = "count",
                              .value = cores,
                              .low = NAN,
                              .high = NAN};
    if (result->slo)
        text_set(finding.sentence, "To hold %.60s, one worker alone needs ", result->slo->text);
    else
        text_set(finding.sentence, "To reach %.0f%% of its best, one worker alone needs ",
                 100 * SIZING_SHARE);
    add_needed(curves, curves->enough, curves->knee, &finding);
    if (both) {
        text_add(finding.sentence, "; each of %u workers ", curves->workers);
        add_needed(curves, curves->enough_all, curves->knee_all, &finding);
    }
    text_add(finding.sentence, ".");
    variant.plan.cores_each = cores;
    arm.variant = &variant;
    arm.planned_workers = curves->workers;
    if (both || curves->workers == 1 || !result->slo)
        (void)advice_command(result, &arm, finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
}

void sizing_judge(const struct analysis *analysis, struct findings *findings)
{
    struct sizing_curves curves;
    if (!sizing_read(analysis, &curves) || curves.enough == curves.n)
        return;
    add_enough(&curves, analysis->result, findings);
    const struct finding finding = {.id = "sizing_error",
                                    .metric = "prediction_error",
                                    .unit = "ratio",
                                    .value = curves.median_error,
                                    .low = NAN,
                                    .high = NAN};
    if (!isnan(curves.median_error))
        findings_putf(findings, &finding,
                      "%u times one worker with as many cores predicts %u workers with a median "
                      "error of %s, at worst %s: the cost of shared memory, caches and clocks.",
                      curves.workers, curves.workers, text_percent(curves.median_error),
                      text_percent(curves.worst_error));
}
