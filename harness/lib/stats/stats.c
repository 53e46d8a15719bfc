#include "harness/lib/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/random.h"

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

/* Uniform in 0..n-1 by multiplication; the bias of n / 2^32 is far below the resampling error. */
static size_t random_below(uint64_t *state, size_t n)
{
    return (size_t)((random_next(state) >> 32) * (uint64_t)n >> 32);
}

/* The value at `rank` (0 = smallest) of the resample that holds counts[i] times sorted[i]. */
static double value_at_rank(const double *sorted, const uint32_t *counts, size_t rank)
{
    size_t i = 0;
    for (size_t seen = counts[0]; seen <= rank; seen += counts[++i])
        ;
    return sorted[i];
}

/* Counts instead of sorting: the values are sorted already, so a histogram is enough. */
static double resampled_median(const double *sorted, size_t n, uint64_t *state, uint32_t *counts)
{
    memset(counts, 0, n * sizeof(*counts));
    for (size_t i = 0; i < n; i++)
        counts[random_below(state, n)]++;
    double high = value_at_rank(sorted, counts, n / 2);
    if (n % 2)
        return high;
    double low = value_at_rank(sorted, counts, n / 2 - 1);
    return low + (high - low) / 2;
}

/*
 * The largest rank (0 = smallest) whose value exceeds the true median with a chance of at most
 * 2.5%: that of at most `rank` heads in n coin tosses. 0 for n below 6, where no rank reaches that.
 */
static size_t rank_of_95(size_t n)
{
    double log_chance = -(double)n * M_LN2, below = exp(log_chance);
    size_t rank = 0;
    for (size_t heads = 1; heads < n && below <= 0.025; heads++) {
        rank = heads - 1;
        log_chance += log((double)(n - heads + 1) / (double)heads);
        below += exp(log_chance);
    }
    return rank;
}

struct stats_interval stats_median_interval(const double *sorted, size_t n, uint64_t seed,
                                            uint32_t *counts)
{
    if (n < 2)
        return (struct stats_interval){NAN, NAN};
    double medians[STATS_RESAMPLES];
    for (size_t i = 0; i < STATS_RESAMPLES; i++)
        medians[i] = resampled_median(sorted, n, &seed, counts);
    size_t kept = stats_sort(medians, STATS_RESAMPLES), rank = rank_of_95(n);
    return (struct stats_interval){
        .low = fmin(stats_percentile(medians, kept, 0.025), sorted[rank]),
        .high = fmax(stats_percentile(medians, kept, 0.975), sorted[n - 1 - rank]),
    };
}

/* Chance of at least `least` hits in n trials, 0 < probability < 1. */
static double tail(unsigned least, unsigned n, double probability)
{
    double all = 0, log_choose = 0, log_hit = log(probability), log_miss = log1p(-probability);
    for (unsigned k = 0; k <= n; k++) {
        if (k)
            log_choose += log((n - k + 1.0) / k);
        if (k >= least)
            all += exp(log_choose + k * log_hit + (n - k) * log_miss);
    }
    return all;
}

/* The probability at which tail() is `chance`, by bisection: tail() rises with it. */
static double solve_tail(unsigned least, unsigned n, double chance)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (tail(least, n, middle) < chance)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct stats_interval stats_share_interval(unsigned hits, unsigned n)
{
    if (!n)
        return (struct stats_interval){(double)NAN, (double)NAN};
    return (struct stats_interval){
        .low = hits ? solve_tail(hits, n, 0.025) : 0,
        .high = hits < n ? solve_tail(hits + 1, n, 0.975) : 1,
    };
}
