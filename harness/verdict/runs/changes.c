#include "harness/verdict/runs/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/stats.h"
#include "harness/lib/stats/student.h"

/* Runs on either side of a place that are looked at. */
static const size_t widths[] = {6, 12, 24, 48};
enum { WIDTHS = sizeof(widths) / sizeof(widths[0]), WIDTH_MOST = CHANGES_WIDTH };

/* E(min(|z|, c)^2) of a normal z, where c is its 80% point: what winsorizing leaves of a variance.
 */
static const double winsorized_variance = 0.412;

struct search {
    const double *values;
    size_t n;
    double error;
    double *scratch;
    struct changes *found;
};

struct split {
    size_t at;
    double p, shift, error, df;
    double before, after; /* the levels */
};

static size_t trimmed(size_t n)
{
    return n < 5 ? (n > 2) : n / 5;
}

/* 20% off at both ends; of 3 it is the median, of 4 the mean of the middle two. */
static double trimmed_mean(const double *sorted, size_t n)
{
    size_t off = trimmed(n);
    return stats_mean(sorted + off, n - 2 * off);
}

/* Of such a mean, where that of a value is 1; a normal's, and a little more for other tails. */
static double variance_of_mean(size_t n)
{
    return (n == 3 ? 1.35 : 1.2) / (double)n;
}

/* Standard deviation of a run, from what is left around the levels; sorts it. */
static double winsorized_deviation(double *left, size_t n, size_t levels)
{
    double sum = 0;
    n = stats_sort(left, n);
    size_t off = n / 5;
    for (size_t i = 0; i < n; i++) {
        size_t kept = i < off ? off : i >= n - off ? n - off - 1 : i;
        sum += left[kept] * left[kept];
    }
    return sqrt(sum / (double)(n > levels ? n - levels : 1) / winsorized_variance);
}

/* Two-sided, by the normal approximation. */
static double rank_p(double above, size_t n1, size_t n2)
{
    double pairs = (double)n1 * (double)n2, n = (double)(n1 + n2);
    double z = (fabs(above - pairs / 2) - 0.5) / sqrt(pairs * (n + 1) / 12);
    return z <= 0 ? 1 : erfc(z * M_SQRT1_2);
}

static bool ranks_agree(const double *values, size_t from, size_t at, size_t to, double level)
{
    double above = 0;
    for (size_t i = from; i < at; i++)
        for (size_t j = at; j < to; j++)
            above += (values[j] > values[i]) + 0.5 * (values[j] == values[i]);
    double most = 2 * rank_p(0, at - from, to - at);
    return rank_p(above, at - from, to - at) <= fmax(level, most);
}

/* Both sides have CHANGES_SIDE to WIDTH_MOST runs. */
static struct split test_split(const double *values, size_t from, size_t at, size_t to)
{
    double left[2 * WIDTH_MOST], side[WIDTH_MOST], mean[2];
    size_t n = to - from, n1 = at - from, n2 = to - at;
    for (int i = 0; i < 2; i++) {
        size_t begin = i ? at : from, size = i ? n2 : n1;
        memcpy(side, values + begin, size * sizeof(*side));
        mean[i] = trimmed_mean(side, stats_sort(side, size));
        for (size_t j = 0; j < size; j++)
            left[begin - from + j] = values[begin + j] - mean[i];
    }
    struct split split = {.at = at,
                          .shift = mean[1] - mean[0],
                          .before = mean[0],
                          .after = mean[1],
                          .df = fmax(1, 0.6 * (double)n - 2)};
    /* Equal figures have no spread: what a double can tell apart. */
    double spread = fmax(winsorized_deviation(left, n, 2), 1e-9);
    split.error = spread * sqrt(variance_of_mean(n1) + variance_of_mean(n2));
    split.p = 2 * student_tail(fabs(split.shift) / split.error, split.df);
    return split;
}

/* Neighbouring places, and one place against several widths, say nearly the same: as many tests
 * that say something else as a quarter of the runs. Series of chance alone keep the error. */
static double level_of_test(const struct search *search)
{
    return 4 * search->error / (double)search->n;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The place between `from` and `to` that speaks most for a change; p = 1: none does. */
static struct split find_best(const struct search *search, size_t from, size_t to)
{
    struct split best = {.p = 1};
    double level = level_of_test(search);
    for (size_t at = from + CHANGES_SIDE; at + CHANGES_SIDE <= to; at++)
        for (size_t w = 0; w < WIDTHS; w++) {
            size_t begin = at - least(widths[w], at - from);
            size_t end = at + least(widths[w], to - at);
            struct split split = test_split(search->values, begin, at, end);
            if (split.p < best.p && split.p < level &&
                ranks_agree(search->values, begin, at, end, level))
                best = split;
            if (begin == from && end == to)
                break;
        }
    return best;
}

/* Trimmed means do not see a few runs on the wrong side: to where least is off the two levels. */
static size_t settle(const double *values, const struct split *split, size_t from, size_t to)
{
    size_t begin = split->at - least(WIDTH_MOST, split->at - from) + CHANGES_SIDE;
    size_t end = split->at + least(WIDTH_MOST, to - split->at) - CHANGES_SIDE, best = begin;
    double off = 0, least_off = 0;
    for (size_t i = begin; i < end; i++) {
        off += fabs(values[i] - split->before) - fabs(values[i] - split->after);
        if (off < least_off) {
            least_off = off;
            best = i + 1;
        }
    }
    return best;
}

static void divide(struct search *search, size_t from, size_t to)
{
    if (to - from < CHANGES_RUNS || search->found->n == CHANGES_MOST)
        return;
    struct split best = find_best(search, from, to);
    if (best.p >= 1)
        return;
    size_t at = settle(search->values, &best, from, to);
    divide(search, from, at);
    if (search->found->n < CHANGES_MOST)
        search->found->change[search->found->n++].at = at;
    divide(search, at, to);
}

static size_t begin_of(const struct changes *found, size_t segment)
{
    return segment ? found->change[segment - 1].at : 0;
}

static size_t end_of(const struct changes *found, size_t segment, size_t n)
{
    return segment < found->n ? found->change[segment].at : n;
}

static struct change change_of(const struct split *split)
{
    double half = split->error * student_quantile(0.025, split->df);
    return (struct change){.at = split->at,
                           .ratio = exp(split->shift),
                           .low = exp(split->shift - half),
                           .high = exp(split->shift + half),
                           .before = exp(split->before),
                           .after = exp(split->after)};
}

/* Against the neighbours that it has now, the weakest goes until all hold. */
static void keep_what_holds(struct search *search)
{
    struct changes *found = search->found;
    for (size_t i = 0; i < found->n;) {
        struct change *change = &found->change[i];
        size_t from = begin_of(found, i), to = end_of(found, i + 1, search->n);
        size_t begin = change->at - least(WIDTH_MOST, change->at - from);
        size_t end = change->at + least(WIDTH_MOST, to - change->at);
        struct split split = test_split(search->values, begin, change->at, end);
        if (split.p >= level_of_test(search)) {
            memmove(change, change + 1, (--found->n - i) * sizeof(*change));
            i = i ? i - 1 : 0;
            continue;
        }
        *change = change_of(&split);
        i++;
    }
}

static double level_of(const struct search *search, size_t from, size_t to)
{
    memcpy(search->scratch, search->values + from, (to - from) * sizeof(*search->scratch));
    return trimmed_mean(search->scratch, stats_sort(search->scratch, to - from));
}

/* Median of the slopes of all pairs, and the sum of their signs. */
static double find_slope(const double *values, size_t n, double *signs)
{
    double *slopes = calloc(n * n / 2 + 1, sizeof(*slopes));
    size_t pairs = 0;
    *signs = 0;
    for (size_t i = 0; slopes && i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            slopes[pairs++] = (values[j] - values[i]) / (double)(j - i);
            *signs += (values[j] > values[i]) - (values[j] < values[i]);
        }
    double slope = pairs ? stats_sort_median(slopes, pairs) : 0;
    free(slopes);
    return slope;
}

/* n log(variance), and log(n) for each number that the description needs. */
static double criterion(double *left, size_t n, size_t numbers)
{
    double deviation = fmax(winsorized_deviation(left, n, 1), 1e-9);
    return (double)n * log(deviation * deviation) + (double)numbers * log((double)n);
}

static double criterion_of_levels(const struct search *search, size_t from, double *left)
{
    const struct changes *found = search->found;
    size_t levels = 0;
    for (size_t s = 0; s <= found->n; s++) {
        size_t begin = begin_of(found, s), end = end_of(found, s, search->n);
        if (end <= from)
            continue;
        begin = begin < from ? from : begin;
        double level = level_of(search, begin, end);
        for (size_t i = begin; i < end; i++)
            left[i - from] = search->values[i] - level;
        levels++;
    }
    return criterion(left, search->n - from, 2 * levels - 1);
}

static double criterion_of_line(const double *values, size_t n, double slope, double *left,
                                double *begin)
{
    for (size_t i = 0; i < n; i++)
        left[i] = values[i] - slope * (double)i;
    *begin = stats_sort_median(left, n);
    for (size_t i = 0; i < n; i++)
        left[i] = values[i] - slope * (double)i - *begin;
    return criterion(left, n, 2);
}

static void find_drift(struct search *search)
{
    struct changes *found = search->found;
    double left[CHANGES_TREND], signs, begin;
    size_t n = least(search->n, CHANGES_TREND), from = search->n - n;
    const double *values = search->values + from;
    double slope = find_slope(values, n, &signs), size = (double)n;
    double z = (fabs(signs) - 1) / sqrt(size * (size - 1) * (2 * size + 5) / 18);
    if (z <= 0 || erfc(z * M_SQRT1_2) >= search->error)
        return;
    double levels = criterion_of_levels(search, from, left);
    if (levels <= criterion_of_line(values, n, slope, left, &begin))
        return;
    found->drifts = true;
    found->drift_from = from;
    found->drift = exp(slope * (size - 1));
    found->drift_after = exp(begin + slope * (size - 1));
    while (found->n && found->change[found->n - 1].at >= from)
        found->n--;
}

void changes_find(const double *logarithms, size_t n, double error, double *scratch,
                  struct changes *changes)
{
    struct search search = {logarithms, n, error, scratch, changes};
    *changes = (struct changes){0};
    if (n < CHANGES_RUNS)
        return;
    divide(&search, 0, n);
    keep_what_holds(&search);
    changes->found = changes->n;
    find_drift(&search);
}

/* The end of a level as if it stood directly before the end of the last one. */
static struct split test_last(const double *values, size_t n, const struct changes *changes,
                              size_t level)
{
    double both[2 * WIDTH_MOST];
    size_t end = changes->change[level].at, last = begin_of(changes, changes->found);
    size_t n1 = least(WIDTH_MOST, end - begin_of(changes, level)), n2 = least(WIDTH_MOST, n - last);
    memcpy(both, values + end - n1, n1 * sizeof(*both));
    memcpy(both + n1, values + n - n2, n2 * sizeof(*both));
    struct split split = test_split(both, 0, n1, n1 + n2);
    split.at = end;
    return split;
}

struct change changes_lost(const double *logarithms, size_t n, double error, bool lower_is_better,
                           const struct changes *changes)
{
    struct change most = {.ratio = 1};
    for (size_t level = 0; level < changes->found; level++) {
        struct split split = test_last(logarithms, n, changes, level);
        bool worse = (split.shift > 0) == lower_is_better;
        if (worse && split.p < error / (double)changes->found &&
            fabs(split.shift) > fabs(log(most.ratio)))
            most = change_of(&split);
    }
    return most;
}

double changes_shift(const double *before, size_t nbefore, const double *after, size_t nafter,
                     double error)
{
    double both[2 * WIDTH_MOST];
    if (nbefore < CHANGES_SIDE || nafter < CHANGES_SIDE)
        return 0;
    memcpy(both, before, nbefore * sizeof(*both));
    memcpy(both + nbefore, after, nafter * sizeof(*both));
    struct split split = test_split(both, 0, nbefore, nbefore + nafter);
    return split.p < error ? split.shift : 0;
}
