/*
 * Which of several equal things is not like its peers: GPUs, links, directions, ranks. Pure, and
 * without a table of models: what a unit should reach is what the others reach.
 *
 * A unit is odd when all of this holds:
 * - Its ratio to the median of the others is worse than SYMMETRY_RATIO. That is the limit that a
 *   reader cares for, and at a noise of 2% it is four standard deviations away.
 * - So is, worse than SYMMETRY_RATIO_BEST, the end of its interval that speaks most for it.
 * - Its robust z-score, 0.6745 * (value - median) / MAD, is beyond SYMMETRY_Z (Iglewicz and Hoaglin
 *   1993, "How to Detect and Handle Outliers"). Median and MAD are of the units that keep the
 *   ratio, so that the odd ones do not widen the measure that they are judged by. The MAD is at
 *   least SYMMETRY_MAD_LEAST of the median, as four nearly equal values have next to none, and at
 *   most SYMMETRY_MAD_MOST below SYMMETRY_PEERS_ENOUGH peers, of which it is hardly an estimate.
 * - Those that fail the ratio are one, or up to a quarter: else they are a group, such as GPUs
 * behind another switch or links of another kind, and not odd ones.
 *
 * Example: 56.9 57.0 14.1 57.1 -> the third: ratio 0.25 of 57.0, MAD 0.1 -> 0.57 (1%),
 * z = 0.6745 * -42.9 / 0.57 = -51.
 */
#ifndef CONTEND_SYMMETRY_H
#define CONTEND_SYMMETRY_H

#include <stdbool.h>
#include <stddef.h>

#define SYMMETRY_RATIO 0.9
#define SYMMETRY_RATIO_BEST 0.95
#define SYMMETRY_Z 3.5
#define SYMMETRY_MAD_LEAST 0.01
#define SYMMETRY_MAD_MOST 0.03
enum { SYMMETRY_PEERS_ENOUGH = 12, SYMMETRY_UNITS_MAX = 512 };

enum symmetry_verdict {
    SYMMETRY_NONE,  /* fewer than two units, or values that have no ratio */
    SYMMETRY_ALIKE, /* none is odd */
    SYMMETRY_ODD,
    SYMMETRY_TWO,   /* two units that differ: nobody can say which is the odd one */
    SYMMETRY_SPLIT, /* groups: too many are worse to be called odd */
};
const char *symmetry_verdict_name(enum symmetry_verdict verdict);

struct symmetry_value {
    double value; /* positive */
    double best;  /* the end of its interval that speaks most for it; else the value */
};

struct symmetry_judgement {
    enum symmetry_verdict verdict;
    double typical; /* median of those that are not odd */
    double spread;  /* of those: (largest - smallest) / typical; 0 where that is nothing */
    size_t nlow;    /* how many fail the ratio */
    struct symmetry_opinion {
        bool odd;
        double ratio; /* to the median of the others; below 1 is worse, also of times */
        double z;     /* negative is worse */
    } unit[SYMMETRY_UNITS_MAX];
};

/*
 * `higher`: more is better; else less. `least`: differences below it do not matter, in the unit of
 * the values; 0 where every one does. n above SYMMETRY_UNITS_MAX gives SYMMETRY_NONE.
 */
void symmetry_judge(const struct symmetry_value *values, size_t n, bool higher, double least,
                    struct symmetry_judgement *out);

#endif
