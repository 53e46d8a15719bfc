/*
 * Which of several equal things is not like its peers: GPUs, links, directions, ranks. Pure, and
 * without a table of models: what a unit should reach is what the others reach.
 *
 * A unit is odd when all of this holds:
 * - Its ratio to the median of the others is worse than OUTLIER_RATIO. That is the limit that a
 *   reader cares for, and at a noise of 2% it is four standard deviations away.
 * - So is, worse than OUTLIER_RATIO_BEST, the end of its interval that speaks most for it.
 * - Its robust z-score, 0.6745 * (value - median) / MAD, is beyond OUTLIER_Z (Iglewicz and Hoaglin
 *   1993, "How to Detect and Handle Outliers"). Median and MAD are of the units that keep the
 *   ratio, so that the odd ones do not widen the measure that they are judged by. The MAD is at
 *   least OUTLIER_MAD_LEAST of the median, as four nearly equal values have next to none, and at
 *   most OUTLIER_MAD_MOST below OUTLIER_PEERS_ENOUGH peers, of which it is hardly an estimate.
 *   Of fewer than OUTLIER_CAPPED_FROM units it stays as it is: two peers that differ say nothing
 * of a third that differs as much.
 * - Those that fail the ratio are one, or up to a quarter: else they are a group, such as GPUs
 *   behind another switch or links of another kind, and not odd ones. A rate of 0 is dead, whatever
 *   group others make up, and of two units too.
 *
 * Units of which none is odd are alike where they are within OUTLIER_SPREAD_MOST, or where the
 * intervals of the least and the most overlap: the medians of few rounds are far apart by chance.
 * One that is twice as good as its peers is no fault of theirs, but they are not alike.
 *
 * Example: 56.9 57.0 14.1 57.1 -> the third: ratio 0.25 of 57.0, MAD 0.1 -> 0.57 (1%),
 * z = 0.6745 * -42.9 / 0.57 = -51.
 */
#ifndef CONTEND_VERDICT_ODD_OUTLIER_H
#define CONTEND_VERDICT_ODD_OUTLIER_H

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
    OUTLIER_LOWER,  /* less is better, as of times; all are above 0 */
    OUTLIER_HIGHER, /* more is better, as of rates; 0 is dead */
    /* How long each waits for the last of them. The one that the others wait for is odd: by its low
     * value, which may be 0. Of two, it is the one that does not wait. */
    OUTLIER_WAITED,
};

enum outlier_verdict {
    OUTLIER_NONE,  /* fewer than two units, or values that have no ratio */
    OUTLIER_ALIKE, /* none is odd, and none is surely beyond OUTLIER_SPREAD_MOST */
    OUTLIER_ODD,
    OUTLIER_TWO,   /* two units that differ: nobody can say which is the odd one */
    OUTLIER_SPLIT, /* none is odd: too many are worse, or they are just far apart */
};
const char *outlier_verdict_name(enum outlier_verdict verdict);

struct outlier_value {
    double value;     /* finite; 0 only where the sense allows it */
    double low, high; /* its interval; not a number where it has none: the value */
};

struct outlier_judgement {
    enum outlier_verdict verdict;
    double typical; /* median of those that are neither odd nor of a group that is worse */
    double spread;  /* of those: (largest - smallest) / typical; 0 where that is nothing */
    size_t nlow; /* of OUTLIER_SPLIT: how many are in the group that is worse; 0: there is none */
    struct outlier_opinion {
        bool odd;
        double ratio; /* to the median of the others; below 1 is worse, also of times */
        double z;     /* negative is worse */
    } unit[OUTLIER_UNITS_MAX];
};

/*
 * `least`: differences below it do not matter, in the unit of the values; 0 where every one does. n
 * above OUTLIER_UNITS_MAX gives OUTLIER_NONE, and so do values that are negative or not finite.
 */
void outlier_judge(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                   double least, struct outlier_judgement *out);

#endif
