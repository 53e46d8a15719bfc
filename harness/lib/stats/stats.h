/*
 * Order statistics and bootstrap intervals. Pure: no I/O, no allocation, no hidden state; the same
 * values and seed give the same result on every machine.
 *
 * A value that could not be measured is NaN. stats_sort drops NaN; the functions after it take its
 * output. An empty input gives NaN, never zero.
 */
#ifndef CONTEND_LIB_STATS_STATS_H
#define CONTEND_LIB_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Resamples per interval: the 2.5% point is then the 50th smallest. */
enum { STATS_RESAMPLES = 2000 };

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

/*
 * Below STATS_RANGE_BELOW values the interval is their range and covers less than 95%: output must
 * call it a range. Up to STATS_RANGE_MOST values the range is the 95% interval.
 */
enum { STATS_RANGE_BELOW = 6, STATS_RANGE_MOST = 8 };

struct stats_interval {
    double low, high;
};

/*
 * 95% percentile bootstrap interval of the median (Efron 1979): the values, one per round, are
 * resampled with replacement STATS_RESAMPLES times, and the interval is the middle 95% of the
 * medians. With few values its coverage is too low: for 7 values it is the 2nd to the 6th, which
 * contain the true median in 87.5% of cases; for 13 values 90.8%. So it is never narrower than the
 * order statistics that contain the median with at least 95% for any distribution (Thompson 1936):
 * the range of 6 to 8 values, the 2nd to the 8th of 9, the 4th to the 12th of 15.
 *
 * n = 1: NaN. n = 2 to 5: the range of the values, which contains the median in 50 to 93.75% of
 * cases. `counts` is scratch for n entries.
 */
struct stats_interval stats_median_interval(const double *sorted, size_t n, uint64_t seed,
                                            uint32_t *counts);

/*
 * 95% interval of a probability, given `hits` in n trials (Clopper and Pearson 1934): its ends are
 * the probabilities at which that many hits or more, or that many or fewer, have a chance of 2.5%.
 * Never too narrow, also for 0 or n hits: 0 of 60 is [0, 0.060]. NaN for n = 0.
 */
struct stats_interval stats_share_interval(unsigned hits, unsigned n);

#endif
