/*
 * Decides when a run has shown enough, and which arms further rounds need. Two questions: is the
 * recommended setting better than the default, and is it indistinguishable from the fastest? The
 * sequential test of the paired rounds (lib/stats/sequential.h) answers both, and may be looked at
 * after every round. The gain has to be above 1 or, if nothing is recommended, below the tolerance.
 * The gain of the fastest over the recommended setting has to be below the tolerance. Pure.
 */
#ifndef CONTEND_VERDICT_ADVICE_CLEAR_H
#define CONTEND_VERDICT_ADVICE_CLEAR_H

#include <stdbool.h>

#include "harness/verdict/advice/recommend.h"

/* True if no further round could change the recommendation. */
bool clear_is_decided(const struct analysis *analysis, const struct recommendation *recommendation);

/* A simpler setting than the recommended one that may be as good; -1 = none. */
int clear_simpler(const struct analysis *analysis, const struct recommendation *recommendation);

/* True if the recommendation is clear for all arms that have a choice; false if no arm has one. */
bool clear_is_reached(const struct analysis *analysis);

/*
 * Call after each round. If all is clear, plans no further round. Otherwise marks arms that no open
 * question needs as idle: arms that were 10% behind the best in each of three or more rounds, or
 * half as fast in each of two; and the default once the gain over it is clear. Adds a round, even
 * if time is up, if each round had a gain but the rounds are too few to prove it.
 */
void clear_next(const struct analysis *analysis, struct result *result);

#endif
