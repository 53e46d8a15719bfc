/*
 * When a run has shown what it is to show, and who is still needed for that. Two questions: is the
 * recommended setting better than the default, and is it indistinguishable from the fastest? Both
 * are asked of the sequential test of the paired rounds (lib/stats/sequential.h), which may be
 * looked at after every round: the gain has to be above 1 (or, where nothing is recommended, below
 * the tolerance), and that of the fastest over the recommended below the tolerance. Pure.
 *
 * The range of the rounds of an arm, or of a ratio, only grows with rounds: of six it holds the
 * true median in 97% of cases, and whenever rounds end in no fewer.
 */
#ifndef CONTEND_VERDICT_ADVICE_CLEAR_H
#define CONTEND_VERDICT_ADVICE_CLEAR_H

#include <stdbool.h>

#include "harness/verdict/advice/recommend.h"

/* Nothing that more rounds could show would change the recommendation. */
bool clear_is_made(const struct analysis *analysis, const struct recommendation *made);

/* A simpler setting than the recommended one that may be as good; -1: there is none. */
int clear_simpler(const struct analysis *analysis, const struct recommendation *made);

/* Clear for all arms that have a choice; false where none has one. */
bool clear_is_reached(const struct analysis *analysis);

/*
 * After a round: no further one is planned where all is clear, and arms that no open question needs
 * are idle in the next one. These are those that in each of three rounds and more were 10% behind
 * the best, or in each of two half as fast, and the default where the gain over it is clear. Where
 * each round had a gain and so few do not show it, there is a further one, if time is up, too.
 */
void clear_next(const struct analysis *analysis, struct result *result);

#endif
