#include "harness/show/blocks.h"

#include <math.h>
#include <stdlib.h>

#include "harness/engine/result.h"
#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"

static const struct arm *arm_of(const struct block *block, size_t i)
{
    return &block->analysis->result->arms[block->arm[i]];
}

const struct row *block_row(const struct block *block, size_t i, const char *metric)
{
    return rows_find(&block->analysis->rows, arm_of(block, i), metric);
}

double block_median(const struct block *block, size_t i, const char *metric)
{
    const struct row *row = block_row(block, i, metric);
    return row ? row->median : (double)NAN;
}

double block_share(const struct block *block, size_t i, enum part part)
{
    static const char *const of[PARTS] = {"oncpu_per_step", "runqueue_wait_per_step",
                                          "throttled_per_step", "blocked_per_step"};
    double whole = 0;
    if (part == PART_QUOTA && isnan(block_median(block, i, of[part])))
        return NAN;
    for (int p = 0; p < PARTS; p++)
        whole += fmax(block_median(block, i, of[p]), 0); /* NaN counts as 0 */
    return fmax(block_median(block, i, of[part]), 0) / whole;
}

bool block_has_quota(const struct block *block)
{
    for (size_t i = 0; i < block->n; i++)
        if (!isnan(block_share(block, i, PART_QUOTA)))
            return true;
    return false;
}

bool block_is_recommended(const struct block *block, size_t i)
{
    return block->recommendation.arm == (int)block->arm[i];
}

const char *block_arm_name(const struct block *block, size_t i)
{
    return arm_name(arm_of(block, i));
}

const char *block_name(const struct block *block)
{
    const struct arm *arm = arm_of(block, 0);
    const char *what = format_params(block->analysis->result, arm);
    return str_fmt("%s, %u worker%s%s%s", arm->bench->name, arm->planned_workers,
                   arm->planned_workers == 1 ? "" : "s", what[0] ? ", " : "", what);
}

static bool has_steps(const struct analysis *analysis, const struct arm *arm)
{
    const struct row *row = rows_find(&analysis->rows, arm, "step_time");
    return !arm->is_baseline && !arm->bench->scan && row && !isnan(row->median);
}

static bool same_block(const struct arm *a, const struct arm *b)
{
    return a->bench == b->bench && a->params == b->params &&
           a->planned_workers == b->planned_workers;
}

static bool is_in_earlier_block(const struct analysis *analysis, size_t at)
{
    const struct arm *arms = analysis->result->arms;
    for (size_t i = 0; i < at; i++)
        if (has_steps(analysis, &arms[i]) && same_block(&arms[i], &arms[at]))
            return true;
    return false;
}

/* The sort key: arms without a value come first. */
static double rank(const struct block *block, size_t i)
{
    double gain = block->gain[i].ratio, rate = block_median(block, i, METRIC_RATE);
    bool relative = block->recommendation.reference >= 0 && !block->recommendation.reference_failed;
    return relative ? (isnan(gain) ? -1 : gain) : isnan(rate) ? -1 : rate;
}

static void sort(struct block *block)
{
    for (size_t i = 1; i < block->n; i++)
        for (size_t k = i; k > 0 && rank(block, k - 1) > rank(block, k); k--) {
            size_t arm = block->arm[k];
            struct evidence gain = block->gain[k];
            block->arm[k] = block->arm[k - 1];
            block->gain[k] = block->gain[k - 1];
            block->arm[k - 1] = arm;
            block->gain[k - 1] = gain;
        }
}

/* Finds the recommendation: in a tune only fresh rounds count, an ab has none. */
static void find_recommendation(struct block *block)
{
    const struct result *result = block->analysis->result;
    block->recommendation = (struct recommendation){.reference = -1, .arm = -1};
    for (size_t i = 0; i < block->n && block->recommendation.reference < 0; i++)
        block->recommendation = recommend_make(block->analysis, arm_of(block, i));
    for (size_t i = 0; i < block->n; i++) {
        bool relative = result->purpose == PURPOSE_RUN || arm_is_fresh(arm_of(block, i));
        block->gain[i] =
            relative
                ? evidence_of_rates(block->analysis, block->recommendation.reference, block->arm[i])
                : evidence_none;
    }
}

/* All placements with the same number of workers share their solo runs. */
static void add_solo(struct block *block)
{
    const struct arm_rounds *any = &block->analysis->rounds.arms[block->arm[0]];
    const struct arm *arms = block->analysis->result->arms;
    size_t n = block->n;
    for (int kind = BASELINE_SLICE; kind <= BASELINE_SINGLE; kind++) {
        int arm = any->baseline[kind];
        block->solo[kind] = -1;
        if (kind == BASELINE_SAME_PLACEMENT || arm < 0 || !arms[arm].is_baseline ||
            !rows_find(&block->analysis->rows, &arms[arm], "step_time") ||
            (kind == BASELINE_SLICE && arm_of(block, 0)->planned_workers == 1))
            continue;
        block->gain[n] = evidence_none;
        block->arm[n] = (size_t)arm;
        block->solo[kind] = (int)n++;
    }
}

bool block_next(const struct analysis *analysis, size_t *at, struct block *block)
{
    const struct result *result = analysis->result;
    *block = (struct block){.analysis = analysis};
    while (*at < result->narms &&
           (!has_steps(analysis, &result->arms[*at]) || is_in_earlier_block(analysis, *at)))
        (*at)++;
    if (*at == result->narms)
        return false;
    block->arm = calloc(result->narms + BASELINES, sizeof(*block->arm));
    block->gain = calloc(result->narms + BASELINES, sizeof(*block->gain));
    if (!block->arm || !block->gain) {
        block_free(block);
        return false;
    }
    for (size_t i = *at; i < result->narms; i++)
        if (has_steps(analysis, &result->arms[i]) &&
            same_block(&result->arms[i], &result->arms[*at]))
            block->arm[block->n++] = i;
    (*at)++;
    find_recommendation(block);
    sort(block);
    add_solo(block);
    return true;
}

void block_free(struct block *block)
{
    free(block->arm);
    free(block->gain);
    *block = (struct block){0};
}

bool block_any(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (has_steps(analysis, &analysis->result->arms[i]))
            return true;
    return false;
}
