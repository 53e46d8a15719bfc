/*
 * Finds which of several equal units differs from its peers: GPUs, links, directions, ranks. Pure.
 * Needs no table of models: a unit should reach what the other units reach.
 *
 * A unit is odd if all of this holds:
 * - Its ratio to the median of the others is worse than OUTLIER_RATIO. Smaller differences do not
 *   matter in practice, and at a noise of 2% this limit is four standard deviations away.
 * - The better end of its interval is worse than OUTLIER_RATIO_BEST.
 * - Its robust z-score, 0.6745 * (value - median) / MAD, is beyond OUTLIER_Z (Iglewicz and Hoaglin
 *   1993, "How to Detect and Handle Outliers"). Median and MAD are taken over the units that keep
 *   the ratio, so that odd units do not widen the measure that judges them. The MAD is at least
 *   OUTLIER_MAD_LEAST of the median, because four nearly equal values have almost none. Below
 *   OUTLIER_PEERS_ENOUGH peers the MAD is a poor estimate, so it is at most OUTLIER_MAD_MOST of the
 *   median; but not below OUTLIER_CAPPED_FROM units: two peers that differ show nothing about a
 *   third unit that differs as much.
 * - The units that fail the ratio are one, or at most a quarter. More are a group, such as GPUs
 *   behind another switch or links of another kind. A rate of 0 is dead and always odd, even if
 *   other units form a group, and even if there are only two units.
 *
 * If no unit is odd, the units are alike if their spread is within OUTLIER_SPREAD_MOST, or if the
 * intervals of the least and the most overlap: medians of few rounds can be far apart by chance. A
 * unit that is twice as good as its peers makes no peer odd, but the units are not alike.
 *
 * Example: 56.9 57.0 14.1 57.1 -> the third: ratio 0.25 of 57.0, MAD 0.1 -> 0.57 (1%), z = 0.6745 *
 * -42.9 / 0.57 = -51.
 */
#ifndef CONTEND_VERDICT_OUTLIER_H
#define CONTEND_VERDICT_OUTLIER_H

#include <stdbool.h>
#include <stddef.h>

#define OUTLIER_RATIO 0.9
#define OUTLIER_RATIO_BEST 0.95
#define OUTLIER_Z 3.5
#define OUTLIER_MAD_LEAST 0.01
#define OUTLIER_MAD_MOST 0.03
#define OUTLIER_SPREAD_MOST (1 / OUTLIER_RATIO - 1)
enum { OUTLIER_CAPPED_FROM = 4, OUTLIER_PEERS_ENOUGH = 12, OUTLIER_UNITS_MAX = 2048 };

enum outlier_sense {
    OUTLIER_LOWER,  /* less is better, such as times; all values are above 0 */
    OUTLIER_HIGHER, /* more is better, such as rates; 0 is dead */
    /* How long each unit waits for the last one to arrive. The unit that all others wait for is
     * odd: it has the low value, which may be 0. With two units, the one that does not wait is
     * odd. */
    OUTLIER_WAITED,
};

enum outlier_verdict {
    OUTLIER_NONE,  /* fewer than two units, or values without a ratio */
    OUTLIER_ALIKE, /* none is odd, and none is clearly beyond OUTLIER_SPREAD_MOST */
    OUTLIER_ODD,
    OUTLIER_TWO,   /* two units that differ: either may be the odd one */
    OUTLIER_SPLIT, /* none is odd: too many are worse, or they are far apart */
};
const char *outlier_verdict_name(enum outlier_verdict verdict);

struct outlier_value {
    double value;     /* finite; 0 only where the sense allows it */
    double low, high; /* its interval; NaN = no interval: the value is used */
};

struct outlier_judgement {
    enum outlier_verdict verdict;
    double typical; /* median of the units that are neither odd nor in a worse group */
    double spread;  /* of the same units: (largest - smallest) / typical; 0 if below `least` */
    size_t nlow;    /* OUTLIER_SPLIT: size of the worse group; 0 = no group */
    struct outlier_opinion {
        bool odd;
        double ratio; /* to the median of the others; below 1 is worse, also for times */
        double z;     /* negative is worse */
    } unit[OUTLIER_UNITS_MAX];
};

/*
 * `least`: differences below it do not matter, in the unit of the values; 0 = all matter. The
 * verdict is OUTLIER_NONE if n is above OUTLIER_UNITS_MAX, or a value is negative or not finite.
 */
void outlier_judge(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                   double least, struct outlier_judgement *out);

#endif
