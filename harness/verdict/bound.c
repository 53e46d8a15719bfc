#include "harness/verdict/bound.h"

#include <math.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/record/metric.h"
#include "harness/record/row.h"
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
