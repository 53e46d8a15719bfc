#include "harness/verdict/runs/dosing.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/metric.h"
#include "harness/verdict/advice.h"

/* The distance of the dose's level from idle. */
static double distance(const struct dose *dose)
{
    return fabs(dose->level - dose_idle_level((enum dose_kind)dose->kind));
}

/* Inserts a dose in order, once; idle comes first. Returns the new number, at most
 * DOSING_LEVELS. */
static size_t insert_dose(struct dose *doses, size_t n, struct dose dose)
{
    size_t at = 0;
    while (at < n && distance(&doses[at]) < distance(&dose))
        at++;
    if (n == DOSING_LEVELS || (at < n && doses[at].level == dose.level))
        return n;
    memmove(&doses[at + 1], &doses[at], (n - at) * sizeof(*doses));
    doses[at] = dose;
    return n + 1;
}

/* The requested doses, and idle. */
static int parse_doses(const char *text, struct dose doses[static DOSING_LEVELS], struct err *err)
{
    struct dose asked[DOSING_LEVELS - 1];
    int n = dose_parse_list(text, asked, DOSING_LEVELS - 1, err);
    size_t all = 1;
    if (n < 0)
        return n;
    doses[0] = (struct dose){asked[0].kind, dose_idle_level((enum dose_kind)asked[0].kind)};
    for (int i = 0; i < n; i++)
        all = insert_dose(doses, all, asked[i]);
    return all > 1
               ? (int)all
               : err_set(err, -EINVAL, "dose '%.60s' takes nothing: name a level to compare", text);
}

/* "partition+cpu-20". */
static void put_name(enum placement placement, const struct dose *dose, struct variant *variant)
{
    double shown = dose_is_share(dose->kind) ? 100 * dose->level : dose->level;
    text_set(variant->name, "%s+%s-%.4g", placement_infos[placement].name, dose_names[dose->kind],
             shown);
}

static bool is_wanted(const struct arms_request *request, size_t placement)
{
    enum placement which = request->placements[placement];
    return !request->optional[placement] || which == PLACE_NONE || which == PLACE_PARTITION;
}

int dosing_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err)
{
    struct dosing *dosing = arg;
    struct dose doses[DOSING_LEVELS] = {0};
    size_t used = 0;
    if (result->narms)
        return 0;
    int n = parse_doses(dosing->doses, doses, err), rc = n < 0 ? n : 0;
    if (!rc && request->nworkers > 1)
        rc = err_set(err, -EINVAL, "a curve of doses needs one number of workers, such as -n 2");
    for (size_t p = 0; p < request->nplacements && !rc; p++)
        for (int i = 0; is_wanted(request, p) && i < n && !rc; i++) {
            struct arms_request one = *request;
            if (used == DOSING_ARMS)
                return err_set(err, -EINVAL, "more than %d configurations: name fewer doses",
                               DOSING_ARMS);
            struct variant *variant = &dosing->variants[used++];
            variant->plan = result->plan;
            put_name(request->placements[p], &doses[i], variant);
            one.variant = variant;
            one.placements = &request->placements[p];
            one.optional = &request->optional[p];
            one.nplacements = 1;
            one.dose = doses[i];
            rc = arms_add(topo, &one, result, err);
        }
    return rc;
}

/* A stored result has no dose for an idle arm. */
static struct dose dose_of(const struct arm *arm, int kind)
{
    return dose_is_idle(&arm->dose) ? (struct dose){kind, dose_idle_level((enum dose_kind)kind)}
                                    : arm->dose;
}

static bool is_of_curve(const struct arm *arm)
{
    return !arm->is_control && !arm->is_baseline && arm->plan.status == PLAN_OK;
}

static void find_axes(const struct result *result, struct dosing_curves *curves)
{
    struct dose doses[DOSING_LEVELS] = {0};
    for (size_t i = 0; i < result->narms; i++)
        if (!dose_is_idle(&result->arms[i].dose))
            curves->kind = result->arms[i].dose.kind;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        size_t p = 0;
        if (!is_of_curve(arm))
            continue;
        curves->workers = arm->planned_workers;
        curves->n = insert_dose(doses, curves->n, dose_of(arm, curves->kind));
        while (p < curves->nplacements && curves->placement[p] != arm->placement)
            p++;
        curves->placement[p] = arm->placement;
        curves->nplacements += p == curves->nplacements;
    }
    for (size_t i = 0; i < curves->n; i++)
        curves->level[i] = doses[i].level;
}

static int find_arm(const struct result *result, const struct dosing_curves *curves, size_t p,
                    size_t level)
{
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (is_of_curve(arm) && arm->placement == curves->placement[p] &&
            dose_of(arm, curves->kind).level == curves->level[level])
            return (int)i;
    }
    return -1;
}

/* The first gating metric of a scan where more is better; NULL = none. */
static const struct bench_metric *find_headline_metric(const struct bench *bench)
{
    const struct bench_metric *metric = bench->scan ? bench->metrics : NULL;
    while (metric && metric->name && (!metric->gating || strcmp(metric->better, "higher") != 0))
        metric++;
    return metric && metric->name ? metric : NULL;
}

bool dosing_has(const struct bench *bench)
{
    return !bench->scan || find_headline_metric(bench);
}

/* The row that the arm's curves are made of; NULL = it has none. */
static const struct row *find_headline(const struct rows *rows, const struct arm *arm)
{
    const struct bench_metric *metric = find_headline_metric(arm->bench);
    const unsigned by_size = dim_find_kind(arm->bench, DIM_BYTES);
    const struct row *found = NULL;
    size_t at = 0;
    if (!metric)
        return rows_find(rows, arm, METRIC_RATE);
    for (const struct row *row; (row = rows_next(rows, arm, metric->name, &at));)
        if (!found || (by_size && dims_number(arm->bench, &row->dims, by_size) >
                                      dims_number(arm->bench, &found->dims, by_size)))
            found = row;
    return found;
}

static void find_what(const struct analysis *analysis, struct dosing_curves *curves)
{
    const struct row *row = NULL;
    for (size_t p = 0; p < curves->nplacements && !row; p++) {
        int idle = find_arm(analysis->result, curves, p, 0);
        if (idle >= 0)
            row = find_headline(&analysis->rows, &analysis->result->arms[idle]);
    }
    curves->what = *VALUE_RATE;
    if (row)
        curves->what =
            (struct round_value){.metric = row->metric, .unit = row->unit, .dims = row->dims};
}

static double tail_of(const struct analysis *analysis, const struct arm *arm)
{
    const struct row *row = rows_find(&analysis->rows, arm, "step_time");
    return row ? row->p99 : (double)NAN;
}

static struct dosing_point read_point(const struct analysis *analysis,
                                      const struct round_value *what, int idle, int arm)
{
    struct dosing_point point = {.rate = NAN, .retention = evidence_none, .p99 = NAN, .held = NAN};
    if (arm < 0)
        return point;
    const struct arm *arms = analysis->result->arms;
    point.arm = &arms[arm];
    point.held = rows_median(&analysis->rows, &arms[arm], METRIC_DOSE);
    /* A dose that failed in some rounds counts as failed, even if the other rounds were fast. */
    if (analysis->rounds.arms[arm].status >= STATUS_SKIPPED)
        return point;
    const struct row *row = rows_at(&analysis->rows, point.arm, what->metric, &what->dims);
    point.rate = row ? row->median : (double)NAN;
    point.retention = evidence_of_arms(analysis, what, idle, (size_t)arm);
    if (idle >= 0)
        point.p99 = tail_of(analysis, &arms[arm]) / tail_of(analysis, &arms[idle]);
    return point;
}

bool dosing_read(const struct analysis *analysis, struct dosing_curves *curves)
{
    *curves = (struct dosing_curves){0};
    find_axes(analysis->result, curves);
    find_what(analysis, curves);
    for (size_t p = 0; p < curves->nplacements; p++)
        for (size_t i = 0; i < curves->n; i++)
            curves->point[p][i] =
                read_point(analysis, &curves->what, find_arm(analysis->result, curves, p, 0),
                           find_arm(analysis->result, curves, p, i));
    return curves->n > 0;
}

double dosing_expected(int kind, double level)
{
    return dose_is_share(kind) ? 1 - level : kind == DOSE_LATENCY ? 1 / level : level;
}

/* Sorts the placements that were measured at that level, fastest first. */
static size_t sort_placements(const struct dosing_curves *curves, size_t level,
                              size_t order[static PLACEMENTS])
{
    size_t n = 0;
    for (size_t p = 0; p < curves->nplacements; p++) {
        double own = curves->point[p][level].rate;
        size_t at = n;
        if (isnan(own) || isnan(curves->point[p][level].retention.ratio))
            continue;
        for (; at && curves->point[order[at - 1]][level].rate < own; at--)
            order[at] = order[at - 1];
        order[at] = p;
        n++;
    }
    return n;
}

/* "partition keeps 80% of its throughput (78% to 82%)". */
static void add_retention(const struct dosing_curves *curves, size_t p, size_t level,
                          const char *verb, struct finding *finding)
{
    const struct evidence *retention = &curves->point[p][level].retention;
    text_add(finding->sentence, "%s%s %.0f%%%s", placement_infos[curves->placement[p]].name, verb,
             100 * retention->ratio, verb[0] ? " of its throughput" : "");
    if (!isnan(retention->low))
        text_add(finding->sentence, " (%.0f%% to %.0f%%)", 100 * retention->low,
                 100 * retention->high);
}

/* Says whether the first of several placements is clearly the fastest, and how to apply it. */
static void add_fastest(const struct analysis *analysis, const struct dosing_curves *curves,
                        size_t level, const size_t *order, size_t n, struct finding *finding)
{
    const struct arm *arms = analysis->result->arms;
    const struct dosing_point *best = &curves->point[order[0]][level];
    const enum placement fastest = curves->placement[order[0]];
    struct evidence lead = evidence_none; /* in the end over the second */
    bool leads = true, keeps_most = true;
    if (n < 2)
        return;
    for (size_t i = n - 1; i > 0; i--) {
        const struct dosing_point *other = &curves->point[order[i]][level];
        lead = evidence_of_arms(analysis, &curves->what, (int)(other->arm - arms),
                                (size_t)(best->arm - arms));
        leads = leads && lead.rounds >= EVIDENCE_ROUNDS && lead.outcome == OUTCOME_FASTER;
        keeps_most = keeps_most && best->retention.low > other->retention.high;
    }
    if (!leads) {
        text_add(finding->sentence, " No placement is clearly the fastest there.");
        return;
    }
    text_add(finding->sentence, " %s is the fastest there, %s %s, %s.",
             placement_infos[fastest].name, advice_format_ratio(lead.ratio),
             placement_infos[curves->placement[order[1]]].name, advice_format_interval(&lead));
    if (keeps_most)
        text_add(finding->sentence, " It also keeps the most.");
    if (advice_may_advise(fastest))
        (void)advice_command(analysis->result, best->arm, finding->command,
                             sizeof(finding->command));
}

void dosing_judge(const struct analysis *analysis, struct findings *findings)
{
    struct dosing_curves curves;
    size_t order[PLACEMENTS], level, n;
    if (!dosing_read(analysis, &curves) || curves.n < 2)
        return;
    level = curves.n / 2;
    n = sort_placements(&curves, level, order);
    if (!n)
        return;
    const struct dosing_point *best = &curves.point[order[0]][level];
    struct finding finding = {.id = "dosing",
                              .metric = "retention",
                              .unit = "ratio",
                              .value = best->retention.ratio,
                              .low = best->retention.low,
                              .high = best->retention.high};
    text_set(finding.sentence, "At %s ", dose_format(&best->arm->dose));
    for (size_t i = 0; i < n; i++) {
        text_add(finding.sentence, "%s", i ? ", " : "");
        add_retention(&curves, order[i], level, i ? "" : " keeps", &finding);
    }
    text_add(finding.sentence, "; the dose alone would leave %.0f%%.",
             100 * dosing_expected(curves.kind, curves.level[level]));
    add_fastest(analysis, &curves, level, order, n, &finding);
    findings_put(findings, &finding);
}
