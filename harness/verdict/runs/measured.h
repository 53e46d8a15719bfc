/*
 * The values that a pair of rows has on both sides and in the history: how far the sides are apart,
 * and what equal runs may be apart by. Pure.
 */
#ifndef CONTEND_VERDICT_RUNS_MEASURED_H
#define CONTEND_VERDICT_RUNS_MEASURED_H

#include "harness/verdict/runs/pairing.h"
#include "harness/verdict/runs/run_spread.h"

/* A pair's values on both sides and in the history. Gains: logarithms, more is better. */
struct measured {
    struct moments sides[PAIRING_SIDES];
    double rounds; /* what the medians are uncertain by of their rounds, the most */
    bool noisy;    /* any row of both sides */
    bool bound[2]; /* a side has a censored row */
    struct run_spread spread;
    double gain, half; /* of other against base; half the width of its interval */
};

/* Of the pair, or with `mate` of the mean of the gains of both, run by run; `round_s` as in struct
 * run_spread_known. */
void measured_of(const struct pair *pair, const struct pair *mate, double round_s, double tail,
                 struct measured *measured);

/* Rows of that side with a median of which there are ratios; whether both sides have one. */
size_t measured_count(const struct pair *pair, enum pairing_side side);
bool measured_on_both(const struct pair *pair);

/* Geometric mean of the medians; NaN = none. */
double measured_median(const struct pair *pair, enum pairing_side side);

/* -1 where less is better, else 1. */
double measured_direction(const struct row *row);

#endif
