#include "harness/verdict/runs/changes.h"

#include <math.h>
#include <string.h>

#include "harness/lib/stats.h"

/* Runs on either side of a place that the test uses. */
static const size_t widths[] = {6, 12, 24, 48};
enum { WIDTHS = sizeof(widths) / sizeof(widths[0]), AROUND = 6, ODD_MOST = 2 };

/* Median distance from the median of a normal distribution, in standard deviations. */
static const double median_distance = 0.6745, outlier_distances = 3;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void changes_limit(const double *logarithms, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        double near[2 * AROUND + 1], from[2 * AROUND + 1];
        size_t begin = i - least(i, AROUND), size = least(n, i + AROUND + 1) - begin, odd = 0;
        memcpy(near, logarithms + begin, size * sizeof(*near));
        double median = stats_sort_median(near, size);
        for (size_t j = 0; j < size; j++)
            from[j] = fabs(near[j] - median);
        double reach = outlier_distances * stats_sort_median(from, size) / median_distance;
        for (size_t j = 0; j < size; j++)
            odd += from[j] > reach;
        to[i] = odd > ODD_MOST ? logarithms[i]
                               : fmin(fmax(logarithms[i], median - reach), median + reach);
    }
}

static struct evidence_runs sides_of(const double *limited, size_t from, size_t to, size_t begin,
                                     size_t end)
{
    struct evidence_runs runs = {.tail = 0.025};
    for (size_t i = from; i < to; i++)
        moments_add(&runs.sides[RUN_SPREAD_BASE], limited[i]);
    for (size_t i = begin; i < end; i++)
        moments_add(&runs.sides[RUN_SPREAD_OTHER], limited[i]);
    return runs;
}

static double chance_of(const struct evidence_runs *runs)
{
    const struct moments *before = &runs->sides[RUN_SPREAD_BASE], *after = before + 1;
    const struct run_spread spread = run_spread_of(runs->sides, &runs->known);
    return run_spread_chance(&spread, before->n, after->n, after->mean - before->mean);
}

struct change changes_between(const double *limited, size_t from, size_t at, size_t begin,
                              size_t end, double error)
{
    const struct evidence_runs runs = sides_of(limited, from, at, begin, end);
    return (struct change){at, evidence_of_runs(&runs), chance_of(&runs) < error};
}

size_t changes_begin(const struct changes *changes, size_t level, size_t n)
{
    if (level > changes->n)
        return n;
    return level ? changes->change[level - 1].at : 0;
}

/* Two-sided p, by the normal approximation (Wilcoxon 1945, Mann and Whitney 1947). */
static double rank_chance(double above, size_t n1, size_t n2)
{
    double pairs = (double)n1 * (double)n2, n = (double)(n1 + n2);
    double z = (fabs(above - pairs / 2) - 0.5) / sqrt(pairs * (n + 1) / 12);
    return z <= 0 ? 1 : erfc(z * M_SQRT1_2);
}

/* True at that level. If the runs are too few to reach it: true within twice the p of sides that do
 * not overlap. */
static bool ranks_agree(const double *limited, size_t from, size_t at, size_t to, double level)
{
    double above = 0;
    for (size_t i = from; i < at; i++)
        for (size_t j = at; j < to; j++)
            above += (limited[j] > limited[i]) + 0.5 * (limited[j] == limited[i]);
    return rank_chance(above, at - from, to - at) <=
           fmax(level, 2 * rank_chance(0, at - from, to - at));
}

/* The place between `from` and `to` with the smallest p below the level; 0 = none. */
static size_t find_best(const double *limited, size_t from, size_t to, double level)
{
    double least_chance = level;
    size_t best = 0;
    for (size_t at = from + CHANGES_SIDE; at + CHANGES_SIDE <= to; at++)
        for (size_t w = 0; w < WIDTHS; w++) {
            size_t begin = at - least(widths[w], at - from), end = at + least(widths[w], to - at);
            const struct evidence_runs runs = sides_of(limited, begin, at, at, end);
            double chance = chance_of(&runs);
            if (chance < least_chance && ranks_agree(limited, begin, at, end, level)) {
                least_chance = chance;
                best = at;
            }
        }
    return best;
}

static void divide(const double *limited, size_t from, size_t to, double level,
                   struct changes *changes)
{
    size_t at = find_best(limited, from, to, level);
    if (!at || changes->n == CHANGES_MOST)
        return;
    divide(limited, from, at, level, changes);
    if (changes->n < CHANGES_MOST)
        changes->change[changes->n++].at = at;
    divide(limited, at, to, level, changes);
}

void changes_find(const double *limited, size_t n, double error, struct changes *changes)
{
    double level = 4 * error / (double)n;
    *changes = (struct changes){0};
    divide(limited, 0, n, level, changes);
    for (size_t i = 0; i < changes->n;) { /* test again, against its current neighbours */
        struct change *change = &changes->change[i];
        size_t at = change->at;
        *change = changes_between(limited, changes_begin(changes, i, n), at, at,
                                  changes_begin(changes, i + 2, n), level);
        if (change->significant) {
            i++;
            continue;
        }
        memmove(change, change + 1, (--changes->n - i) * sizeof(*change));
        i -= i > 0;
    }
}
