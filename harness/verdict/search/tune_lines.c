#include "harness/verdict/search/tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/verdict/advice/recommend.h"

static bool is_ahead(const struct arm_rounds *one, const struct arm_rounds *other)
{
    return one->n != other->n ? one->n > other->n : one->rate > other->rate;
}

/* The reference: `none` of the fresh rounds, or the search's leader; -1 = none. */
static int find_reference(const struct analysis *analysis, bool fresh)
{
    int found = -1;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        const struct arm_rounds *rounds = analysis->rounds.arms;
        if (!arm->variant || arm_is_fresh(arm) != fresh || isnan(rounds[i].rate))
            continue;
        if (fresh && arm->placement == PLACE_NONE && found < 0)
            found = (int)i;
        if (!fresh && (found < 0 || is_ahead(&rounds[i], &rounds[found])))
            found = (int)i;
    }
    return found;
}

static void add_lines(const struct analysis *analysis, bool fresh, struct tune_lines *lines)
{
    int reference = find_reference(analysis, fresh), recommended = -1;
    if (fresh && reference >= 0)
        recommended = recommend_make(analysis, &analysis->result->arms[reference]).arm;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        bool says_why = fresh || arm->plan.status == PLAN_OK; /* others are in the findings */
        if (arm->variant && arm_is_fresh(arm) == fresh && says_why)
            lines->all[lines->n++] =
                (struct tune_line){.arm = i,
                                   .name = arm_name(arm),
                                   .fresh = fresh,
                                   .rate = analysis->rounds.arms[i].rate,
                                   .against = evidence_of_rates(analysis, reference, i),
                                   .is_reference = (int)i == reference,
                                   .recommended = (int)i == recommended};
    }
}

static int by_ratio(const void *a, const void *b)
{
    const struct tune_line *one = a, *other = b;
    double x = isnan(one->against.ratio) ? -1 : one->against.ratio;
    double y = isnan(other->against.ratio) ? -1 : other->against.ratio;
    if (one->fresh != other->fresh)
        return one->fresh ? 1 : -1;
    return x != y ? (x < y ? -1 : 1) : (one->arm < other->arm ? -1 : 1);
}

int tune_lines_make(const struct analysis *analysis, struct tune_lines *lines, struct err *err)
{
    *lines = (struct tune_lines){.all = calloc(analysis->result->narms + 1, sizeof(*lines->all))};
    if (!lines->all)
        return err_set(err, -ENOMEM, "no memory for the lines of %zu settings",
                       analysis->result->narms);
    add_lines(analysis, false, lines);
    add_lines(analysis, true, lines);
    qsort(lines->all, lines->n, sizeof(*lines->all), by_ratio);
    return 0;
}

void tune_lines_free(struct tune_lines *lines)
{
    free(lines->all);
    *lines = (struct tune_lines){0};
}
