#include "harness/lib/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t stats_sort(double *values, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]))
            values[kept++] = values[i];
    if (kept)
        qsort(values, kept, sizeof(*values), compare_double);
    return kept;
}

double stats_percentile(const double *sorted, size_t n, double fraction)
{
    if (n == 0)
        return NAN;
    double h = (double)(n - 1) * fraction;
    size_t below = (size_t)h;
    if (below + 1 >= n)
        return sorted[n - 1];
    double low = sorted[below], high = sorted[below + 1];
    if (h == (double)below)
        return low; /* avoids 0 * infinity */
    /* Rounding must not carry the result above its upper neighbour: percentiles are monotone. */
    return fmin(low + (h - (double)below) * (high - low), high);
}

double stats_median(const double *sorted, size_t n)
{
    return stats_percentile(sorted, n, 0.5);
}

double stats_sort_median(double *values, size_t n)
{
    n = stats_sort(values, n);
    return stats_median(values, n);
}

double stats_nearest_rank(const double *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

/* Bets against "the median is not above the value": each gains 1 + lambda on a value above it and
 * loses lambda below it. The stake on lambda 1 makes six equal signs suffice. */
static const double stake_on_all = 0.625, stake_each = 0.375 / 4, lambdas[] = {0.1, 0.2, 0.4, 0.7};

/* True if the bets refute, at 2.5%, that only `below` of n values lie below the median by chance.
 */
static bool is_refuted(size_t n, size_t below)
{
    double won = below ? 0 : stake_on_all * exp2((double)n);
    for (size_t i = 0; i < sizeof(lambdas) / sizeof(lambdas[0]); i++)
        won += stake_each *
               exp((double)(n - below) * log1p(lambdas[i]) + (double)below * log1p(-lambdas[i]));
    return won >= 1 / 0.025;
}

size_t stats_median_rank(size_t n)
{
    size_t rank = 0, beyond = n / 2;
    while (rank + 1 < beyond) { /* refuted at rank, or rank is 0; not refuted at beyond */
        size_t middle = (rank + beyond) / 2;
        *(is_refuted(n, middle) ? &rank : &beyond) = middle;
    }
    return rank;
}

struct stats_interval stats_median_interval(const double *sorted, size_t n)
{
    if (n < 2)
        return (struct stats_interval){(double)NAN, (double)NAN};
    size_t rank = stats_median_rank(n);
    return (struct stats_interval){sorted[rank], sorted[n - 1 - rank]};
}
