#include "harness/verdict/runs/halving.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/stats.h"

void halving_free(struct halving *halving)
{
    free(halving->log_rate);
    free(halving->scratch);
    halving->log_rate = halving->scratch = NULL;
    halving->rounds = 0;
}

static bool is_left(const struct halving *halving, size_t arm)
{
    return !halving->arms[arm].dropped;
}

size_t halving_left(const struct halving *halving)
{
    size_t left = 0;
    for (size_t i = 0; i < halving->n; i++)
        left += is_left(halving, i);
    return left;
}

static int grow(struct halving *halving, struct err *err)
{
    size_t rounds = halving->rounds + 1;
    double *rates = realloc(halving->log_rate, rounds * halving->n * sizeof(*rates));
    if (rates)
        halving->log_rate = rates;
    double *scratch = realloc(halving->scratch, rounds * sizeof(*scratch));
    if (scratch)
        halving->scratch = scratch;
    return rates && scratch ? 0
                            : err_set(err, -ENOMEM, "no memory for %zu rounds of %zu settings",
                                      rounds, halving->n);
}

int halving_record(struct halving *halving, const double *rates, double seconds, struct err *err)
{
    int rc = halving->n ? grow(halving, err) : 0;
    if (rc || !halving->n)
        return rc;
    double *round = &halving->log_rate[halving->rounds++ * halving->n];
    for (size_t i = 0; i < halving->n; i++) {
        struct halving_arm *arm = &halving->arms[i];
        round[i] = arm->dropped || !(rates[i] > 0) ? NAN : log(rates[i]);
        arm->failed = arm->failed || (!arm->dropped && isnan(round[i]));
        arm->dropped = arm->dropped || arm->failed;
    }
    halving->round_s = seconds;
    halving->spent_s += seconds;
    halving->rung_spent_s += seconds;
    halving->rung_rounds++;
    return 0;
}

double halving_ahead(const struct halving *halving, size_t other, size_t arm)
{
    size_t n = 0;
    for (size_t r = 0; r < halving->rounds; r++) {
        const double *round = &halving->log_rate[r * halving->n];
        if (!isnan(round[other]) && !isnan(round[arm]))
            halving->scratch[n++] = round[other] - round[arm];
    }
    return n ? stats_sort_median(halving->scratch, n) : NAN;
}

size_t halving_leader(const struct halving *halving)
{
    size_t leader = halving->n;
    for (size_t i = 0; i < halving->n; i++)
        if (is_left(halving, i) && (leader == halving->n || halving_ahead(halving, i, leader) > 0))
            leader = i;
    return leader;
}

static bool is_near(const struct halving *halving, size_t leader, size_t arm)
{
    return halving_ahead(halving, leader, arm) <= log1p(halving->tolerance);
}

/* A single round can be off by this factor, such as with processes that start anew. */
static const double one_round = 1.5;

static bool is_possible(const struct halving *halving, size_t leader, size_t arm)
{
    double least = INFINITY;
    size_t n = 0;
    for (size_t r = 0; r < halving->rounds; r++) {
        const double *round = &halving->log_rate[r * halving->n];
        n += isnan(round[leader] - round[arm]) ? 0 : 1;
        least = fmin(least, round[leader] - round[arm]);
    }
    return is_near(halving, leader, arm) ||
           (halving->arms[arm].effort &&
            least <= (n == 1 ? log(one_round) : log1p(halving->tolerance)));
}

static size_t simplest_of(const struct halving *halving, size_t leader,
                          bool (*may_be)(const struct halving *halving, size_t leader, size_t arm))
{
    size_t simplest = leader;
    for (size_t i = 0; i < halving->n; i++) {
        const struct halving_arm *arm = &halving->arms[i], *best = &halving->arms[simplest];
        if (arm->failed || !may_be(halving, leader, i))
            continue;
        if (arm->effort < best->effort ||
            (arm->effort == best->effort && halving_ahead(halving, i, simplest) > 0))
            simplest = i;
    }
    return simplest;
}

size_t halving_simplest(const struct halving *halving, size_t leader)
{
    return simplest_of(halving, leader, is_near);
}

size_t halving_possible(const struct halving *halving, size_t leader)
{
    return simplest_of(halving, leader, is_possible);
}

/* How many remaining arms are ahead of the arm. Equal arms: the simpler first, then by index. */
static size_t place_of(const struct halving *halving, size_t arm)
{
    size_t before = 0;
    for (size_t i = 0; i < halving->n; i++) {
        if (i == arm || !is_left(halving, i))
            continue;
        double ahead = halving_ahead(halving, i, arm);
        unsigned effort = halving->arms[i].effort, own = halving->arms[arm].effort;
        before += ahead > 0 || (ahead == 0 && (effort < own || (effort == own && i < arm)));
    }
    return before;
}

/* Keeps the best `keep` arms, and the two simplest ones near the leader, even if dropped before. */
static void keep_best(struct halving *halving, size_t keep)
{
    size_t leader = halving_leader(halving);
    size_t simplest = halving_simplest(halving, leader);
    size_t possible = halving_possible(halving, leader);
    for (size_t i = 0; i < halving->n; i++)
        halving->arms[i].place = is_left(halving, i) ? place_of(halving, i) : halving->n;
    for (size_t i = 0; i < halving->n; i++)
        halving->arms[i].dropped = i != simplest && i != possible && halving->arms[i].place >= keep;
    halving->rung_rounds = 0;
    halving->rung_spent_s = 0;
}

void halving_make_room(struct halving *halving, size_t most)
{
    size_t leader = halving_leader(halving), near = 0;
    for (size_t i = 0; i < halving->n; i++)
        near += is_left(halving, i) && halving_ahead(halving, leader, i) <= log(one_round);
    if (near)
        keep_best(halving, near < most ? near : most);
    halving->rungs = halving->rung = 0;
}

static unsigned count_rungs(size_t arms)
{
    unsigned rungs = 1;
    while (((size_t)1 << rungs) < arms)
        rungs++;
    return rungs;
}

bool halving_goes_on(struct halving *halving)
{
    size_t before = halving_left(halving);
    if (before < 2) /* no arm to compare with */
        return false;
    if (!halving->rungs)
        halving->rungs = count_rungs(before);
    unsigned rungs_left = halving->rungs - halving->rung;
    double before_s = halving->spent_s - halving->rung_spent_s;
    double rung_s = (halving->budget_s - before_s) / rungs_left;
    if (halving->rung_rounds < HALVING_RUNG_ROUNDS &&
        halving->rung_spent_s + halving->round_s <= rung_s)
        return true;
    keep_best(halving, (before + 1) / 2);
    halving->rung++;
    size_t left = halving_left(halving);
    double next_s = halving->round_s * (double)left / (double)before;
    return rungs_left > 1 && left > 2 && halving->spent_s + next_s <= halving->budget_s;
}
