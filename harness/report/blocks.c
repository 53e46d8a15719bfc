#include "harness/report/blocks.h"

#include <math.h>
#include <stdlib.h>

#include "harness/rows/key.h"
#include "harness/rows/metric.h"
#include "harness/run/variant.h"

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
        whole += fmax(block_median(block, i, of[p]), 0); /* NaN is as nothing */
    return fmax(block_median(block, i, of[part]), 0) / whole;
}

bool block_has_quota(const struct block *block)
{
    for (size_t i = 0; i < block->n; i++)
        if (!isnan(block_share(block, i, PART_QUOTA)))
            return true;
    return false;
}

bool block_is_best(const struct block *block, size_t i)
{
    const struct arm_rounds *rounds = &block->analysis->rounds.arms[block->arm[i]];
    return !arm_of(block, i)->variant && rounds->baseline[BASELINE_BEST] == (int)block->arm[i];
}

const char *block_arm_name(const struct block *block, size_t i)
{
    const struct arm *arm = arm_of(block, i);
    return arm->variant ? arm->variant->name : placement_infos[arm->placement].name;
}

char *block_name(const struct block *block, char *buf, size_t size)
{
    char what[96];
    const struct arm *arm = arm_of(block, 0);
    (void)key_say_params(block->analysis->result, arm, what, sizeof(what));
    (void)snprintf(buf, size, "%s, %u worker%s%s%s", arm->bench->name, arm->slots,
                   arm->slots == 1 ? "" : "s", what[0] ? ", " : "", what);
    return buf;
}

static bool has_steps(const struct analysis *analysis, const struct arm *arm)
{
    const struct row *row = rows_find(&analysis->rows, arm, "step_time");
    return !arm->alone && !arm->bench->scan && row && !isnan(row->median);
}

static bool same_block(const struct arm *a, const struct arm *b)
{
    return a->bench == b->bench && a->params == b->params && a->slots == b->slots;
}

static bool was_before(const struct analysis *analysis, size_t at)
{
    const struct arm *arms = analysis->result->arms;
    for (size_t i = 0; i < at; i++)
        if (has_steps(analysis, &arms[i]) && same_block(&arms[i], &arms[at]))
            return true;
    return false;
}

const struct row *block_behind(const struct block *block, size_t i)
{
    const struct row *row = block_row(block, i, METRIC_VS_BEST);
    bool compared = !arm_of(block, i)->variant && row && !isnan(row->median);
    return compared ? row : NULL;
}

/* How many times less than the best: the worst, or what nobody knows, stands first. */
static double behind(const struct block *block, size_t i)
{
    double ratio = block_median(block, i, METRIC_VS_BEST);
    return block_is_best(block, i) ? 0 : isnan(ratio) ? (double)INFINITY : ratio;
}

static void sort(struct block *block)
{
    for (size_t i = 1; i < block->n; i++)
        for (size_t k = i; k > 0 && behind(block, k - 1) < behind(block, k); k--) {
            size_t arm = block->arm[k];
            block->arm[k] = block->arm[k - 1];
            block->arm[k - 1] = arm;
        }
}

bool block_next(const struct analysis *analysis, size_t *at, struct block *block)
{
    const struct result *result = analysis->result;
    *block = (struct block){.analysis = analysis};
    while (*at < result->narms &&
           (!has_steps(analysis, &result->arms[*at]) || was_before(analysis, *at)))
        (*at)++;
    if (*at == result->narms)
        return false;
    block->arm = calloc(result->narms, sizeof(*block->arm));
    if (!block->arm)
        return false;
    for (size_t i = *at; i < result->narms; i++)
        if (has_steps(analysis, &result->arms[i]) &&
            same_block(&result->arms[i], &result->arms[*at]))
            block->arm[block->n++] = i;
    (*at)++;
    sort(block);
    return true;
}

void block_free(struct block *block)
{
    free(block->arm);
    *block = (struct block){0};
}

bool block_any(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (has_steps(analysis, &analysis->result->arms[i]))
            return true;
    return false;
}
