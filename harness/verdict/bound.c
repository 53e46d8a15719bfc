#include "harness/verdict/bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"
#include "harness/record/row.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/odd.h"
#include "harness/verdict/recommend.h"

/* The second bound is named too if its part is at least this share of the largest. */
static const double alike = 0.8;

enum { STAGES_SHOWN = 3 };

const char *bound_name(enum bound bound)
{
    static const char *const names[BOUNDS] = {
        "the CPU",    "the CPU's memory",   "copies to the device", "GPU compute",
        "GPU memory", "waiting for others", "a quota of CPU time",
    };
    return names[bound];
}

static double known(double value)
{
    return isnan(value) ? 0 : fmax(value, 0);
}

static double share(double part, double whole)
{
    return whole > 0 ? fmin(known(part) / whole, 1) : 0;
}

static void judge_cpu(const struct bound_facts *facts, struct bound_parts *parts)
{
    double cpu_s = facts->stage[STAGE_CPU];
    double threads_s = known(facts->oncpu_s) + known(facts->runqueue_s) + known(facts->throttled_s);
    double queued = share(facts->runqueue_s, threads_s), spun = 0, stalled = 0;
    double stopped = share(facts->throttled_s, threads_s), ran = 1 - queued - stopped;
    if (!isnan(facts->more_instructions_s)) {
        spun = fmin(share(facts->more_instructions_s, threads_s), ran);
        stalled = fmin(share(facts->more_stalls_s, threads_s), ran - spun);
    } else if (facts->solo[STAGE_CPU] < cpu_s) {
        double more = fmax(ran - facts->solo[STAGE_CPU] / cpu_s, 0);
        *(queued >= BOUND_QUEUE_LEAST ? &spun : &stalled) = more;
    }
    double rest = fmax(ran - spun - stalled, 0);
    bool starves = facts->instructions < BOUND_IPC_LEAST * facts->cycles &&
                   facts->cache_misses > BOUND_MISSES_LEAST * facts->instructions;
    parts->s[BOUND_QUOTA] += cpu_s * stopped;
    parts->s[BOUND_OTHERS] += cpu_s * (queued + spun);
    parts->s[BOUND_MEMORY] += cpu_s * (stalled + (starves ? rest : 0));
    parts->s[BOUND_CPU] += cpu_s * (starves ? 0 : rest);
}

static void judge_gpu(const struct bound_facts *facts, struct bound_parts *parts)
{
    double gpu_s = facts->stage[STAGE_GPU];
    double lost_s = facts->sharing > 1 ? known(gpu_s - facts->solo[STAGE_GPU]) : 0;
    bool memory = facts->gpu_memory > facts->gpu_compute;
    parts->s[BOUND_OTHERS] += lost_s;
    parts->s[memory ? BOUND_GPU_MEMORY : BOUND_GPU] += gpu_s - lost_s;
}

void bound_judge(const struct bound_facts *facts, struct bound_parts *parts)
{
    *parts = (struct bound_parts){0};
    judge_cpu(facts, parts);
    judge_gpu(facts, parts);
    parts->s[BOUND_COPY] += facts->stage[STAGE_COPY];
    parts->s[BOUND_OTHERS] += facts->stage[STAGE_WAIT];
    for (int kind = 0; kind < STAGE_KINDS; kind++)
        parts->step_s += facts->stage[kind];
    for (int b = 1; b < BOUNDS; b++)
        if (parts->s[b] > parts->s[parts->most])
            parts->most = (enum bound)b;
    parts->second = parts->most == BOUND_CPU ? BOUND_MEMORY : BOUND_CPU;
    for (int b = 0; b < BOUNDS; b++)
        if (b != (int)parts->most && parts->s[b] > parts->s[parts->second])
            parts->second = (enum bound)b;
}

/* An arm and its solo run; NULL = there is no solo run. */
struct subject {
    const struct analysis *analysis;
    const struct arm *arm, *solo;
};

/* 0 if the arm has stages, but not this one; NaN if it has none. */
static double stage_of(const struct subject *of, const struct arm *arm,
                       const struct bench_stage *stage)
{
    const struct dims at = dims_parse(of->arm->bench, stage->key);
    const struct row *row = arm ? rows_at(&of->analysis->rows, arm, METRIC_STAGE, &at) : NULL;
    return isnan(rows_median(&of->analysis->rows, arm, METRIC_STAGE)) ? (double)NAN
           : row                                                      ? row->median
                                                                      : 0;
}

/* The number of workers in the plan that use the same GPU as the first worker. */
static unsigned count_sharing(const struct arm *arm)
{
    unsigned n = 0;
    for (unsigned w = 0; w < arm->plan.nworkers; w++)
        n += arm->plan.workers[0].gpu >= 0 && arm->plan.workers[w].gpu == arm->plan.workers[0].gpu;
    return n;
}

static void gather(const struct subject *of, struct bound_facts *facts)
{
    const struct arm *arm = of->arm;
    const struct rows *rows = &of->analysis->rows;
    *facts = (struct bound_facts){
        .oncpu_s = rows_median(rows, arm, "oncpu_per_step"),
        .runqueue_s = rows_median(rows, arm, "runqueue_wait_per_step"),
        .throttled_s = rows_median(rows, arm, "throttled_per_step"),
        .more_instructions_s = rows_median(rows, arm, "loss_oncpu_instructions_per_step"),
        .more_stalls_s = rows_median(rows, arm, "loss_oncpu_stalls_per_step"),
        .instructions = rows_median(rows, arm, "instructions_per_step"),
        .cycles = rows_median(rows, arm, "cycles_per_step"),
        .cache_misses = rows_median(rows, arm, "cache_misses_per_step"),
        .gpu_compute = rows_median(rows, arm, "gpu_compute_share"),
        .gpu_memory = rows_median(rows, arm, "gpu_memory_share"),
        .sharing = count_sharing(arm),
    };
    for (const struct bench_stage *stage = arm->bench->stages; stage->name; stage++) {
        facts->stage[stage->kind] += stage_of(of, arm, stage);
        facts->solo[stage->kind] += stage_of(of, of->solo, stage);
    }
}

/* Sorts by time, largest first; equal stages keep their order. Returns how many. */
static size_t sort_stages(const struct subject *of, const struct bench_stage **sorted)
{
    size_t n = 0;
    for (const struct bench_stage *stage = of->arm->bench->stages; stage->name; stage++, n++) {
        size_t at = n;
        for (; at > 0 && stage_of(of, of->arm, sorted[at - 1]) < stage_of(of, of->arm, stage); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = stage;
    }
    return n;
}

static double sum_of(const struct subject *of, const struct arm *arm)
{
    double sum = 0;
    for (const struct bench_stage *stage = arm ? arm->bench->stages : NULL; stage && stage->name;
         stage++)
        sum += stage_of(of, arm, stage);
    return sum;
}

/* "transform 61% (42% alone), moments 15% (9% alone)" */
static const char *format_stages(const struct subject *of, const struct bench_stage *const *stages,
                                 size_t n)
{
    double step_s = sum_of(of, of->arm), solo_s = sum_of(of, of->solo);
    const char *text = "";
    for (size_t i = 0; i < n; i++) {
        double part = stage_of(of, of->arm, stages[i]) / step_s;
        double solo = stage_of(of, of->solo, stages[i]) / solo_s;
        if (part >= 0.005)
            str_add(&text, ", ", "%s %.0f%%", stages[i]->name, 100 * part);
        if (part >= 0.005 && of->solo && !isnan(solo))
            str_add(&text, "", " (%.0f%% alone)", 100 * solo);
    }
    return text;
}

static void add(const struct subject *of, struct findings *findings)
{
    struct bound_facts facts;
    struct bound_parts parts;
    const struct bench_stage *sorted[BENCH_STAGES] = {NULL};
    struct finding finding = {.id = "bound", .severity = FINDING_NOTE};
    const char *second = "";
    gather(of, &facts);
    bound_judge(&facts, &parts);
    if (!(parts.step_s > 0))
        return;
    if (parts.s[parts.second] >= alike * parts.s[parts.most])
        second = str_fmt(" and %s", bound_name(parts.second));
    size_t n = sort_stages(of, sorted);
    const char *largest = format_stages(of, sorted, n < STAGES_SHOWN ? n : STAGES_SHOWN);
    text_set(finding.subject, "%s%s", statuses_name_arm(of->analysis->result, of->arm),
             device_mark(arm_device(of->analysis->result, of->arm)));
    /* All stages in their order, for scripts and the report. */
    for (size_t i = 0; i < n; i++)
        sorted[i] = &of->arm->bench->stages[i];
    text_set(finding.evidence, "%s", format_stages(of, sorted, n));
    findings_putf(findings, &finding, "bound by %s%s, %.0f%% of a step; its largest stages: %s",
                  bound_name(parts.most), second,
                  100 * (parts.s[parts.most] + (second[0] ? parts.s[parts.second] : 0)) /
                      parts.step_s,
                  largest);
}

/* The largest number of workers with this benchmark and these parameters. */
static unsigned most_planned_workers(const struct result *result, const struct arm *like)
{
    unsigned most = 0;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->bench == like->bench && arm->params == like->params && !arm->is_baseline)
            most = arm->planned_workers > most ? arm->planned_workers : most;
    }
    return most;
}

void bound_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        int slice = analysis->rounds.arms[i].baseline[BASELINE_SLICE];
        const struct subject subject = {
            .analysis = analysis, .arm = arm, .solo = slice < 0 ? NULL : &result->arms[slice]};
        if (!arm->bench->stages || arm->is_baseline ||
            arm->planned_workers != most_planned_workers(result, arm))
            continue;
        const struct recommendation recommendation = recommend_make(analysis, arm);
        int shown = recommendation.arm < 0 ? recommendation.best : recommendation.arm;
        if (arm->placement == PLACE_NONE || shown == (int)i)
            add(&subject, findings);
    }
}

/* Fewer workers are enough if they reach this share of the best, as in a sizing. */
static const double enough_share = 0.95;

static double median_of(const struct analysis *analysis, int arm, const char *metric)
{
    const struct row *row =
        arm < 0 ? NULL : rows_find(&analysis->rows, &analysis->result->arms[arm], metric);
    bool measured = row && (row->status == STATUS_OK || row->status == STATUS_NOISY);
    return measured ? row->median : (double)NAN;
}

/* The recommended placement for the largest number of workers; PLACEMENTS = no evidence. */
static enum placement find_recommended(const struct analysis *analysis,
                                       const struct scaling *scaling)
{
    const struct arm *arms = analysis->result->arms;
    for (size_t p = 0; p < scaling->nplacements; p++) {
        int arm = scaling->arm[scaling->ncounts - 1][p];
        int recommended = arm < 0 ? -1 : recommend_make(analysis, &arms[arm]).arm;
        if (recommended >= 0)
            return arms[recommended].placement;
    }
    return PLACEMENTS;
}

/* Finds the count and placement with the highest throughput; false if nothing was measured. */
static bool find_most(const struct analysis *analysis, const struct scaling *scaling,
                      enum placement recommended, size_t *count, size_t *placement)
{
    double most = 0;
    for (size_t c = 0; c < scaling->ncounts; c++)
        for (size_t p = 0; p < scaling->nplacements; p++) {
            double rate = median_of(analysis, scaling->arm[c][p], METRIC_RATE);
            bool other = recommended != PLACEMENTS && scaling->placements[p] != recommended;
            if (other || !(rate > most))
                continue;
            most = rate;
            *count = c;
            *placement = p;
        }
    return most > 0;
}

void scaling_find(const struct analysis *analysis, struct findings *findings)
{
    struct scaling scaling;
    struct finding finding = {.id = "workers", .value = NAN, .low = NAN, .high = NAN};
    size_t most = 0, p = 0, enough = 0;
    if (!scaling_read(analysis->result, &scaling) ||
        !find_most(analysis, &scaling, find_recommended(analysis, &scaling), &most, &p))
        return;
    int arm = scaling.arm[most][p];
    double best = median_of(analysis, arm, METRIC_RATE);
    while (enough < most &&
           !(median_of(analysis, scaling.arm[enough][p], METRIC_RATE) >= enough_share * best))
        enough++;
    double rate = median_of(analysis, scaling.arm[enough][p], METRIC_RATE);
    double held = median_of(analysis, arm, "efficiency");
    unsigned workers = scaling.counts[most], fewer = scaling.counts[enough];
    text_set(finding.sentence, "highest throughput: %u worker%s under %s, %s %s", workers,
             workers == 1 ? "" : "s", placement_infos[scaling.placements[p]].name, units_si(best),
             analysis->rounds.arms[arm].rate_unit);
    if (!isnan(held))
        text_add(finding.sentence, ", efficiency %s", text_percent(held));
    if (enough < most)
        text_add(finding.sentence, "; %u %s %s of that.", fewer, fewer == 1 ? "reaches" : "reach",
                 text_percent(rate / best));
    else
        text_add(finding.sentence,
                 most + 1 == scaling.ncounts ? "; more workers were not tried." : ".");
    if (advice_may_advise(scaling.placements[p]))
        (void)advice_command(analysis->result, &analysis->result->arms[scaling.arm[enough][p]],
                             finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
}

/* The sentence about a scan's speed under load. Declared in advice.h. */

/* A placement is clearly better if it keeps this much more at the size with the lowest
 * retention. */
static const double clear_gain = 0.1;

/* The lowest row and the highest median of an arm's retention. */
struct range {
    const struct row *least; /* NULL = nothing */
    double most;
};

static struct range range_of(const struct rows *rows, const struct arm *arm)
{
    struct range range = {NULL, -INFINITY};
    size_t at = 0;
    for (const struct row *row; (row = rows_next(rows, arm, "retention", &at));) {
        if (!range.least || row->median < range.least->median)
            range.least = row;
        range.most = fmax(range.most, row->median);
    }
    return range;
}

/* "84% to 97%", or "84%". */
static const char *format_range(const struct range *range)
{
    const char *least = text_percent(range->least->median);
    const char *most = text_percent(range->most);
    bool same = strcmp(least, most) == 0;
    return str_fmt("%s%s%s", least, same ? "" : " to ", same ? "" : most);
}

/* True if `arm` keeps more than `other`, by more than chance, at that row's key. */
static bool is_ahead(const struct analysis *analysis, const struct arm *other,
                     const struct arm *arm, const struct row *at)
{
    const struct arm *arms = analysis->result->arms;
    const struct round_value what = {.metric = "retention", .dims = at->dims};
    return evidence_of_arms(analysis, &what, (int)(other - arms), (size_t)(arm - arms)).outcome ==
           OUTCOME_FASTER;
}

static bool is_clear(const struct analysis *analysis, const struct arm *best,
                     const struct arm *other, const struct row *worst)
{
    const struct row *row = rows_at(&analysis->rows, best, "retention", &worst->dims);
    return row && row->median > worst->median + clear_gain &&
           is_ahead(analysis, other, best, worst);
}

/* An arm that failed in a round is not recommended. */
static bool can_win(const struct arm *arm, const struct range *range)
{
    return advice_may_advise(arm->placement) && range->least->status <= STATUS_CENSORED;
}

bool advice_is_loaded(const struct analysis *analysis, const struct arm *idle,
                      const struct arm *arm)
{
    size_t at = 0;
    return !arm->is_baseline && arm->bench == idle->bench && arm->params == idle->params &&
           arm->planned_workers == idle->planned_workers &&
           rows_next(&analysis->rows, arm, "retention", &at);
}

/* The arm with the lowest retention, and the simplest arm that is as good as the best one. */
struct ends {
    const struct arm *worst, *best; /* NULL = none */
    struct range low, high;
};

static struct ends find_ends(const struct analysis *analysis, const struct arm *idle)
{
    struct ends ends = {0};
    const struct arm *most = NULL;
    for (int pass = 0; pass < 2; pass++, most = ends.best)
        for (size_t i = 0; i < analysis->result->narms; i++) {
            const struct arm *arm = &analysis->result->arms[i];
            if (!advice_is_loaded(analysis, idle, arm))
                continue;
            struct range range = range_of(&analysis->rows, arm);
            if (!ends.worst || range.least->median < ends.low.least->median) {
                ends.worst = arm;
                ends.low = range;
            }
            bool simpler = most && !is_ahead(analysis, arm, most, ends.low.least) &&
                           recommend_effort(arm->placement, NULL) <
                               recommend_effort(ends.best->placement, NULL);
            if (can_win(arm, &range) &&
                (most ? simpler : !ends.best || range.least->median > ends.high.least->median)) {
                ends.best = arm;
                ends.high = range;
            }
        }
    return ends;
}

static const char *format_load(const struct result *result, const struct arm *arm)
{
    unsigned behind = arm_background(arm);
    if (arm->plan.has_dose)
        return str_fmt("a dose of %s", dose_format(&arm->dose));
    return str_fmt("%u background worker%s (%s)", behind, behind == 1 ? "" : "s",
                   result->background->name);
}

void retention_find(const struct analysis *analysis, const struct arm *idle,
                    struct findings *findings)
{
    const struct result *result = analysis->result;
    struct finding advice = {.id = "retention"};
    if (!idle->is_baseline || !bench_is_team(idle->bench))
        return;
    const struct ends ends = find_ends(analysis, idle);
    if (!ends.worst)
        return;
    bool clear = ends.best && is_clear(analysis, ends.best, ends.worst, ends.low.least);
    const char *part = format_part(result, idle, NULL);
    text_set(advice.sentence, "Under %s %s%s%s keeps %s of its idle speed with placement %s",
             format_load(result, ends.worst), idle->bench->name, part[0] ? ", " : "", part,
             format_range(&ends.low), placement_infos[ends.worst->placement].name);
    if (clear)
        text_add(advice.sentence, ", %s with %s", format_range(&ends.high),
                 placement_infos[ends.best->placement].name);
    text_add(advice.sentence, ".");
    if (clear && ends.best->placement != PLACE_NONE)
        (void)advice_command(result, ends.best, advice.command, sizeof(advice.command));
    findings_put(findings, &advice);
}
