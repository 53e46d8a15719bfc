/*
 * Order statistics and bootstrap intervals. Pure: no I/O, no allocation, no hidden state; the same
 * values and seed give the same result on every machine.
 *
 * A value that could not be measured is NaN. stats_sort drops those; everything behind it takes
 * what stats_sort left. An empty input gives NaN, never zero.
 */
#ifndef CONTEND_LIB_STATS_STATS_H
#define CONTEND_LIB_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Resamples behind one interval: the 2.5% point is then the 50th smallest of them. */
enum { STATS_RESAMPLES = 2000 };

/* Moves the numbers to the front in ascending order and returns how many there are. */
size_t stats_sort(double *values, size_t n);

/*
 * Linear interpolation between closest ranks (Hyndman and Fan 1996, type 7; the default of numpy,
 * R and spreadsheets): h = (n - 1) * fraction, between sorted[floor(h)] and its successor. Example:
 * 1 2 3 4 at 0.25 is 1.75. `fraction` in [0, 1].
 */
double stats_percentile(const double *sorted, size_t n, double fraction);

/* The percentile at 0.5: the middle value, or the mean of the middle two. */
double stats_median(const double *sorted, size_t n);

/* stats_sort, and the median of what it left. */
double stats_sort_median(double *values, size_t n);

/* The smallest value that `percent` of all are not above, so always one of them; n >= 1. */
double stats_nearest_rank(const double *sorted, size_t n, unsigned percent);

/*
 * An interval of fewer values is their range, and to be called that: it holds less than 95%. Up to
 * STATS_RANGE_MOST the range is what 95% takes.
 */
enum { STATS_RANGE_BELOW = 6, STATS_RANGE_MOST = 8 };

struct stats_interval {
    double low, high;
};

/*
 * 95% percentile bootstrap interval of the median (Efron 1979): the values, one a round, are drawn
 * with replacement STATS_RESAMPLES times, and the interval holds the middle 95% of the medians. Of
 * few values that is less than it says (of 7 the 2nd to the 6th, which hold the true median in
 * 87.5% of all cases; of 13 90.8%), so it is never narrower than the order statistics between which
 * the median lies with a chance of 95% at least, whatever the distribution (Thompson 1936): of 6 to
 * 8 values the range, of 9 the 2nd to the 8th, of 15 the 4th to the 12th.
 *
 * n = 1 has no interval: NaN. For n = 2 to 5 it is the range of the values, which holds the median
 * in 50 to 93.75% of all cases. `counts` is scratch for n entries.
 */
struct stats_interval stats_median_interval(const double *sorted, size_t n, uint64_t seed,
                                            uint32_t *counts);

/*
 * 95% interval of a probability of which `hits` of n trials are known: Clopper and Pearson 1934,
 * the shares at which so many or more, and so many or fewer, have a chance of 2.5%. Never too
 * narrow, also where hits is 0 or n: 0 of 60 is [0, 0.060]. NaN for n = 0.
 */
struct stats_interval stats_share_interval(unsigned hits, unsigned n);

#endif
