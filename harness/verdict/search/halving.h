/*
 * Which of many settings is measured next, and when the search is over: successive halving. Pure
 * apart from allocation: rates go in, arms come out.
 *
 * The time is divided evenly among rungs. In a rung every arm that is left is measured in the same
 * rounds, so that drift of the machine cancels; then the worse half is dropped (Karnin, Koren and
 * Somekh 2013, sequential halving; Jamieson and Talwalkar 2016). Arms are compared by the median
 * over the rounds that both have of the logarithm of their ratio, also with the rounds of earlier
 * rungs. The simplest arm within a tolerance of the leader is never dropped, nor is the simplest
 * that no evidence puts behind it: they are what one would rather apply, and need the evidence.
 */
#ifndef CONTEND_VERDICT_SEARCH_HALVING_H
#define CONTEND_VERDICT_SEARCH_HALVING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"

/* Behind so many rounds a rung ends before its time: fresh rounds tell more than further ones. */
enum { HALVING_RUNG_ROUNDS = 4 };

struct halving_arm {
    unsigned effort; /* what it asks of who applies it; less is simpler */
    bool dropped;    /* no longer measured */
    bool failed;     /* a round of it gave no rate: dropped, and never chosen */
    size_t place;    /* scratch */
};

/* Zeroed, then n, arms, budget_s and tolerance are the caller's; the rest is filled in here. */
struct halving {
    size_t n;
    struct halving_arm *arms; /* borrowed, n of them */
    double budget_s;          /* for all rungs together */
    double tolerance;         /* a share, 0.03: who is so near to the leader is as good */

    size_t rounds;
    double *log_rate; /* owned, [round * n + arm]; NaN = not measured */
    double *scratch;  /* owned */
    double spent_s, rung_spent_s, round_s;
    unsigned rungs, rung, rung_rounds; /* rungs: as many as halve those that the first one has */
};

void halving_free(struct halving *halving);

/*
 * One round: of each arm its rate, NaN or 0 of one that failed; arms that are dropped are ignored.
 * `seconds` is what the whole round took. -ENOMEM only.
 */
int halving_record(struct halving *halving, const double *rates, double seconds, struct err *err);

/*
 * Before other arms join: drops those that did less than two thirds of the leader's work, and keeps
 * `most` of the rest, with the simplest as below. The rungs begin anew.
 */
void halving_make_room(struct halving *halving, size_t most);

/*
 * After a round: drops arms where the rung is over. True: another round of those that are left;
 * false: the search is over, as at most two are left or the time is.
 */
bool halving_goes_on(struct halving *halving);

/* How many are still measured. */
size_t halving_left(const struct halving *halving);

/* Median logarithm of the ratio other / arm over the rounds that both have; NaN without any. */
double halving_ahead(const struct halving *halving, size_t other, size_t arm);

/* The fastest of those that are left; n where all have failed. */
size_t halving_leader(const struct halving *halving);

/*
 * The one of the least effort within the tolerance of that arm, among all that were measured, also
 * those that were dropped; of several the fastest. That arm itself where there is none.
 */
size_t halving_simplest(const struct halving *halving, size_t leader);

/*
 * The same among those that the rounds do not show to be further behind, but for those that ask
 * nothing: in one of the rounds that both have it was within the tolerance, or they have one round,
 * in which it did two thirds of that arm's work or more.
 */
size_t halving_possible(const struct halving *halving, size_t leader);

#endif
