#include "harness/verdict/runs/history_moved.h"

#include <math.h>
#include <string.h>

/* A move of the machine explains one of a figure that is at most so many times as large. */
static const double explains = 3;

/* The chance that a canary of a machine that did not move is taken for one that did, of which half
 * are in the direction that explains anything. */
static const double moved_error = 0.05;

/* Runs [from, at) against runs [at, to). */
struct sides {
    uint32_t from, before_to, at, to;
};

static uint32_t run_of(const struct history_series *series, const struct change *change)
{
    return series->point[change->at].run;
}

double history_worsening(const struct history_series *series, double ratio)
{
    return strcmp(series->better, "lower") == 0 ? log(ratio) : -log(ratio);
}

/* Those points nearest to `near` that there is room for, as logarithms. */
static size_t take(const struct history_series *series, uint32_t from, uint32_t to, bool last,
                   double values[static CHANGES_WIDTH])
{
    size_t begin = 0, end;
    while (begin < series->n && series->point[begin].run < from)
        begin++;
    for (end = begin; end < series->n && series->point[end].run < to;)
        end++;
    size_t n = end - begin < CHANGES_WIDTH ? end - begin : CHANGES_WIDTH;
    begin = last ? end - n : begin;
    for (size_t i = 0; i < n; i++)
        values[i] = log(series->point[begin + i].value);
    return n;
}

/* Logarithm of what it is behind against what it was before; told: 0 where chance may be it. */
static double shift_of(const struct history_series *series, const struct sides *sides, bool told)
{
    double before[CHANGES_WIDTH], after[CHANGES_WIDTH];
    size_t n1 = take(series, sides->from, sides->before_to, true, before);
    size_t n2 = take(series, sides->at, sides->to, false, after);
    return changes_shift(before, n1, after, n2, told ? moved_error : 1);
}

static bool moved(const struct history_series *series, double ratio,
                  const struct history_series *canary, const struct sides *sides, double *by)
{
    double worse = history_worsening(series, ratio);
    *by = exp(shift_of(canary, sides, true));
    double moved = history_worsening(canary, *by);
    return moved * worse > 0 && fabs(worse) <= explains * fabs(moved);
}

/* Whether the figure made at least half of a step of the canary. */
static bool went_along(const struct history_series *series, const struct history_series *canary,
                       const struct sides *sides)
{
    double of = history_worsening(canary, exp(shift_of(canary, sides, false)));
    return history_worsening(series, exp(shift_of(series, sides, false))) / of >= 0.5;
}

/*
 * A step of the canary near that of the figure is the same one; one farther away, over which the
 * figure stood still, is another.
 */
static struct sides narrow(const struct history_series *series, const struct history_series *canary,
                           struct sides sides)
{
    uint32_t run = sides.at;
    for (size_t i = 0; i < canary->found.n; i++) {
        uint32_t at = run_of(canary, &canary->found.change[i]);
        uint32_t apart = at > run ? at - run : run - at;
        bool behind = at > run;
        if (at <= sides.from || at >= sides.to)
            continue;
        if (apart <= HISTORY_NEAR_RUNS) {
            sides.before_to = sides.at = at;
            continue;
        }
        const struct sides there = {behind ? run : sides.from, at, at, behind ? sides.to : run};
        if (went_along(series, canary, &there))
            continue;
        if (behind) {
            sides.to = at;
            break;
        }
        sides.from = at;
    }
    return sides;
}

const struct history_series *history_moved_at(const struct history *history,
                                              const struct history_series *series,
                                              const struct change *change, double *ratio)
{
    const struct changes *found = &series->found;
    struct sides sides = {0, run_of(series, change), run_of(series, change),
                          (uint32_t)history->nruns};
    for (size_t i = 0; i < found->n; i++) {
        uint32_t at = run_of(series, &found->change[i]);
        if (at < sides.at)
            sides.from = at;
        else if (at > sides.at && at < sides.to)
            sides.to = at;
    }
    for (size_t i = 0; i < history->nseries; i++) {
        const struct history_series *canary = history->series[i];
        if (!canary->canary)
            continue;
        const struct sides its = narrow(series, canary, sides);
        if (moved(series, change->ratio, canary, &its, ratio))
            return canary;
    }
    return NULL;
}

const struct history_series *history_moved_along(const struct history *history,
                                                 const struct history_series *series, double *ratio)
{
    size_t from = series->changes.drift_from, n = series->n - from;
    size_t third = n / 3 < CHANGES_SIDE ? CHANGES_SIDE : n / 3;
    const struct history_point *point = series->point;
    const struct sides sides = {point[from].run, point[from + third].run,
                                point[series->n - third].run, point[series->n - 1].run + 1};
    for (size_t i = 0; i < history->nseries; i++) {
        const struct history_series *canary = history->series[i];
        if (canary->canary && moved(series, series->changes.drift, canary, &sides, ratio))
            return canary;
    }
    return NULL;
}
