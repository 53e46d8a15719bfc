/*
 * Order statistics and their intervals. Pure: no I/O, no allocation, no hidden state.
 *
 * A value that could not be measured is NaN. stats_sort drops NaN; the functions after it take its
 * output. An empty input gives NaN, never zero.
 */
#ifndef CONTEND_LIB_STATS_H
#define CONTEND_LIB_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Moves the numbers to the front in ascending order, without NaN, and returns their count. */
size_t stats_sort(double *values, size_t n);

/*
 * Linear interpolation between closest ranks (Hyndman and Fan 1996, type 7; the default of numpy,
 * R and spreadsheets): h = (n - 1) * fraction, between sorted[floor(h)] and its successor. Example:
 * 1 2 3 4 at 0.25 is 1.75. `fraction` in [0, 1].
 */
double stats_percentile(const double *sorted, size_t n, double fraction);

/* The percentile at 0.5: the middle value, or the mean of the middle two. */
double stats_median(const double *sorted, size_t n);

/* stats_sort, then the median. */
double stats_sort_median(double *values, size_t n);

/* The smallest value with at least `percent` of all values at or below it; n >= 1. */
double stats_nearest_rank(const double *sorted, size_t n, unsigned percent);

/* Below STATS_RANGE_BELOW values the interval of the median is their range and covers less than
 * 95%: output must call it a range. */
enum { STATS_RANGE_BELOW = 6 };

struct stats_interval {
    double low, high;
};

/*
 * 95% interval of the median over rounds, valid whenever one looks, so also where rounds end when a
 * result is clear. Its ends are order statistics, as in the sign test (Thompson 1936), so it holds
 * for any distribution, a new one in each round. A bet on the signs never gains on average if the
 * end is on the right side of the median; the chance that it ever wins 40 times its stake is 2.5%
 * at each end (Ville 1939; Howard and Ramdas 2022).
 *
 * n = 1: NaN. n = 2 to 5: the range, which contains the median in 50 to 93.75% of cases. Six to 14:
 * also the range. Then the 2nd to the 14th of 15, the 6th to the 22nd of 27, the 34th to the 67th
 * of 100.
 */
struct stats_interval stats_median_interval(const double *sorted, size_t n);

/* How many values lie below its low end, and above its high end. */
size_t stats_median_rank(size_t n);

#endif
