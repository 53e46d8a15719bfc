#include "harness/rows/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/sequential.h"
#include "harness/rows/metric.h"

int analysis_make(const struct result *result, struct analysis *analysis, struct err *err)
{
    *analysis = (struct analysis){.result = result};
    int rc = rounds_make(result, &analysis->rounds, err);
    if (!rc)
        rc = values_make(result, &analysis->rounds, &analysis->values, err);
    if (!rc)
        rc = rows_make(result, &analysis->rounds, &analysis->values, &analysis->rows, err);
    return rc;
}

int analysis_make_round(const struct result *result, unsigned round, struct analysis *analysis,
                        struct err *err)
{
    struct result *alone = malloc(sizeof(*alone) + result->narms * sizeof(*alone->arms));
    *analysis = (struct analysis){0};
    if (!alone)
        return err_set(err, -ENOMEM, "out of memory for round %u", round + 1);
    *alone = *result;
    alone->arms = memcpy(alone + 1, result->arms, result->narms * sizeof(*alone->arms));
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &alone->arms[i];
        arm->observations = arm_observation(arm, round);
        arm->nobservations = arm->observations != NULL;
    }
    int rc = analysis_make(alone, analysis, err);
    analysis->round = alone;
    return rc;
}

struct analysis analysis_measured(const struct analysis *full, struct result *result)
{
    struct analysis measured = *full;
    size_t narms = result_measured(full->result);
    *result = *full->result;
    result->narms = narms;
    measured.result = result;
    measured.rounds.narms = narms;
    measured.values.narms = narms;
    measured.values.n = full->values.first ? full->values.first[narms] : 0;
    while (measured.rows.n && measured.rows.row[measured.rows.n - 1].arm->is_control)
        measured.rows.n--;
    return measured;
}

static const struct arm *source_of(const struct analysis *analysis, size_t arm)
{
    return &analysis->result->arms[analysis->rounds.arms[arm].source];
}

/* The rounds of two arms, and working memory for their test. */
struct pairs {
    size_t n;
    struct value_pair *pair;
    double *scratch; /* 5 n */
    bool *swapped;
};

/* The sequential test. It stays valid although the run stops as soon as its result is clear. */
static void test_pairs(const struct analysis *analysis, size_t slow, size_t fast,
                       const struct pairs *paired, struct paired_ratio *ratio)
{
    const struct value_pair *pairs = paired->pair;
    const size_t n = paired->n;
    double *x = paired->scratch, *sum = x + n;
    bool *swapped = paired->swapped;
    struct sequential of = {.x = x,
                            .sum = sum,
                            .swapped = swapped,
                            .scale = x + 2 * n,
                            .shift = x + 3 * n,
                            .scratch = x + 4 * n,
                            .n = n};
    for (size_t i = 0; i < n; i++) {
        x[i] = log(pairs[i].fast / pairs[i].slow);
        sum[i] = log(pairs[i].fast) + log(pairs[i].slow);
        swapped[i] = arm_order(source_of(analysis, fast), pairs[i].round) <
                     arm_order(source_of(analysis, slow), pairs[i].round);
    }
    sequential_prepare(&of);
    const double enough = log(2 / ANALYSIS_ALPHA);
    const double most = log1p(result_within(analysis->result));
    ratio->is_above = sequential_above(&of, 0) >= enough;
    ratio->is_within = sequential_below(&of, most) >= enough;
}

struct paired_ratio analysis_ratio(const struct analysis *analysis, int slow, size_t fast)
{
    return analysis_ratio_of(analysis, VALUE_RATE, slow, fast);
}

static double share_of(const struct analysis *analysis, size_t a, size_t b, const char *metric)
{
    const struct arm *arms = analysis->result->arms;
    return fmax(0, fmax(rows_median(&analysis->rows, &arms[a], metric),
                        rows_median(&analysis->rows, &arms[b], metric)));
}

struct paired_ratio analysis_ratio_of(const struct analysis *analysis,
                                      const struct round_value *what, int slow, size_t fast)
{
    const struct round_values *values = &analysis->values;
    if (slow < 0)
        return PAIRED_NONE;
    struct paired_ratio ratio = values_ratio(values, what, (size_t)slow, fast);
    ratio.foreign = share_of(analysis, (size_t)slow, fast, "foreign_cpu");
    ratio.steal = share_of(analysis, (size_t)slow, fast, "steal");
    bool is_tested = analysis->result->until_clear || ratio_is_disturbed(&ratio);
    if (!is_tested || ratio.rounds < SEQUENTIAL_LEAST)
        return ratio;
    struct pairs pairs = {.pair = calloc(values->most, sizeof(*pairs.pair)),
                          .scratch = calloc(5 * ratio.rounds, sizeof(*pairs.scratch)),
                          .swapped = calloc(ratio.rounds, sizeof(*pairs.swapped))};
    ratio.is_sequential = true;
    if (pairs.pair && pairs.scratch && pairs.swapped) {
        pairs.n = values_pair(values, what, (size_t)slow, fast, pairs.pair);
        test_pairs(analysis, (size_t)slow, fast, &pairs, &ratio);
    }
    free(pairs.swapped);
    free(pairs.scratch);
    free(pairs.pair);
    return ratio;
}

void analysis_free(struct analysis *analysis)
{
    rows_free(&analysis->rows);
    values_free(&analysis->values);
    rounds_free(&analysis->rounds);
    free(analysis->round);
    *analysis = (struct analysis){0};
}
