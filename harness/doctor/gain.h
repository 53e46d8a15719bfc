/*
 * The gain of a change: job speed per block of time, from its progress, and the ratio between
 * paired blocks with its confidence interval. Pure.
 */
#ifndef CONTEND_DOCTOR_GAIN_H
#define CONTEND_DOCTOR_GAIN_H

#include "harness/verdict/evidence.h"

/* A number and when it was first seen: a growing total, or a rate. */
struct gain_sample {
    double at_s, value;
};

/*
 * Growth of a total per second between two times. Steps that straddle either end count in part, so
 * that a slow job is not measured in whole steps. The first sample is the total at the start of the
 * block; the samples are sorted by time. NaN: fewer than two steps ended in between.
 */
double gain_growth(const struct gain_sample *samples, size_t n, double from_s, double to_s);

/* Number of samples in (from_s, to_s]. */
size_t gain_count(const struct gain_sample *samples, size_t n, double from_s, double to_s);

/*
 * Mean of the rates in (from_s, to_s]; NaN if there is none. `leave_first` skips the first one,
 * which averages over time before the block.
 */
double gain_mean(const struct gain_sample *samples, size_t n, double from_s, double to_s,
                 bool leave_first);

enum { GAIN_PAIRS_LEAST = 2, GAIN_PAIRS_WANTED = 6, GAIN_PAIRS_MOST = 64 };

/*
 * Minimum length of the next blocks, chosen so that GAIN_PAIRS_WANTED pairs fit into the time that
 * is left. Each block follows a change that takes change_s. `done`: pairs measured so far.
 */
double gain_block_s(double left_s, double change_s, size_t done, double shortest_s,
                    double longest_s);

/* Rates of adjacent blocks, without and with the change. */
struct gain_pairs {
    size_t n;
    bool are_starts; /* each block measures a new start of the job: see gain_make */
    double before[GAIN_PAIRS_MOST], after[GAIN_PAIRS_MOST];
};

/*
 * The geometric mean of the ratios, with a 95% interval: Student's t on logarithms. For one running
 * job, the interval uses the ratios of the pairs: drift of the machine cancels within a pair.
 *
 * For starts (are_starts), the two starts of a pair are no more alike than any others. So the
 * interval uses the variance within each kind, pooled: with two pairs it is a third as wide. If the
 * change does nothing, both kinds have one distribution, and 2.5% of trials report a gain, with any
 * number of pairs. The size of the gain assumes that starts vary equally with and without the
 * change. If one kind hardly varies, the interval covers 85% with two pairs, 91% with four.
 *
 * All rates must be above 0. `base` and `other` are mean rates. FASTER: the interval is above 1.
 * SAME: its upper end is at most 1.05: no useful gain, or slower. UNCLEAR: neither, or fewer than
 * GAIN_PAIRS_LEAST pairs.
 */
struct evidence gain_make(const struct gain_pairs *pairs);

/* "proven", "none", "unclear", as scripts see these outcomes. */
const char *gain_name(const struct evidence *gain);

#endif
