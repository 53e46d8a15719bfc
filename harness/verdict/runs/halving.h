/*
 * Chooses which of many settings is measured next, and when the search ends: successive halving.
 * Pure apart from allocation: rates go in, arms come out.
 *
 * The time is divided evenly among rungs. In a rung, all remaining arms are measured in the same
 * rounds, so that drift of the machine cancels; then the worse half is dropped (Karnin, Koren and
 * Somekh 2013, sequential halving; Jamieson and Talwalkar 2016). Two arms are compared by the
 * median of their log ratio over all rounds that both have, including earlier rungs. Two arms are
 * never dropped: the simplest within a tolerance of the leader, and the simplest that no evidence
 * puts behind the leader. Users prefer to apply simple settings, so these need the evidence.
 */
#ifndef CONTEND_VERDICT_RUNS_HALVING_H
#define CONTEND_VERDICT_RUNS_HALVING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"

/* A rung ends early after this many rounds: fresh rounds tell more than further ones. */
enum { HALVING_RUNG_ROUNDS = 4 };

struct halving_arm {
    unsigned effort; /* of applying it; less is simpler */
    bool dropped;    /* no longer measured */
    bool failed;     /* gave no rate in a round: dropped, and never chosen */
    size_t place;    /* scratch */
};

/* Zeroed; then the caller sets n, arms, budget_s and tolerance. The rest is filled in here. */
struct halving {
    size_t n;
    struct halving_arm *arms; /* borrowed, n of them */
    double budget_s;          /* for all rungs */
    double tolerance;         /* a share, 0.03: an arm this near to the leader is as good */

    size_t rounds;
    double *log_rate; /* owned, [round * n + arm]; NaN = not measured */
    double *scratch;  /* owned */
    double spent_s, rung_spent_s, round_s;
    unsigned rungs, rung, rung_rounds; /* rungs: the number of halvings of the first rung's arms */
};

void halving_free(struct halving *halving);

/*
 * Records one round: the rate of each arm; NaN or 0 = the arm failed. Ignores dropped arms.
 * `seconds`: the time of the whole round. -ENOMEM only.
 */
int halving_record(struct halving *halving, const double *rates, double seconds, struct err *err);

/*
 * Call before other arms join. Drops arms below two thirds of the leader's throughput, and keeps at
 * most `most` of the rest, besides the simplest ones (halving_simplest, halving_possible). The
 * rungs start anew.
 */
void halving_make_room(struct halving *halving, size_t most);

/*
 * Call after a round: drops arms if the rung is over. True: measure the remaining arms again.
 * False: the search is over, because at most two are left or the time is up.
 */
bool halving_goes_on(struct halving *halving);

/* The number of arms that are still measured. */
size_t halving_left(const struct halving *halving);

/* Median logarithm of the ratio other / arm over the rounds that both have; NaN without any. */
double halving_ahead(const struct halving *halving, size_t other, size_t arm);

/* The fastest of the remaining arms; n if all have failed. */
size_t halving_leader(const struct halving *halving);

/*
 * The arm with the least effort within the tolerance of the leader, among all measured arms, also
 * dropped ones; the fastest if several have the same effort. The leader itself if there is none.
 */
size_t halving_simplest(const struct halving *halving, size_t leader);

/*
 * The same, among arms that the rounds do not show to be further behind; arms of effort 0 do not
 * count. An arm counts if it was within the tolerance in any round that both have; or, if they have
 * one round, if it reached two thirds of the leader's throughput.
 */
size_t halving_possible(const struct halving *halving, size_t leader);

#endif
