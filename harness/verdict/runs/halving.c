#include "harness/verdict/runs/halving.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/stats.h"
#include "harness/verdict/recommend.h"
#include "harness/verdict/runs/tune.h"

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

/* Chooses the arms and the number of fresh rounds after a search. */

double tune_took_s(const struct result *result, size_t arm)
{
    const struct arm *of = &result->arms[arm];
    return of->nobservations ? of->observations[of->nobservations - 1].took_s : 0;
}

/* The number of cores that plans may use. */
static unsigned count_cores(const struct tune *tune)
{
    struct bitset allowed = {0}, cpus;
    int last = -1;
    unsigned n = 0;
    topo_allowed_cpus(tune->topo, &allowed);
    if (tune->tried.common.cpus && !bitset_parse(tune->tried.common.cpus, &cpus, NULL))
        bitset_and(&allowed, &cpus);
    for (unsigned i = 0; i < tune->topo->ncpus; i++) {
        const struct topo_cpu *cpu = &tune->topo->cpus[i];
        if (bitset_test(&allowed, cpu->os_cpu)) {
            n += cpu->core != last;
            last = cpu->core;
        }
    }
    return n;
}

/* Adds a setting with `reserve` more cores kept free; no setting if too few cores remain. */
static int add_fresh(struct tune *tune, struct result *result, enum tune_role role,
                     const struct setting *of, unsigned reserve, struct err *err)
{
    struct setting fresh = *of;
    struct err why;
    fresh.variant.is_fresh = true;
    fresh.variant.fewer = reserve;
    fresh.variant.plan.reserve += reserve;
    variant_put_name(&fresh.variant, fresh.placement,
                     tune->request.nworkers > 1 ? fresh.workers : 0);
    tune->role[role] = tune->settings.n;
    int rc = settings_add_one(tune->topo, &tune->request, &fresh, &tune->settings, result, &why);
    if (rc)
        tune->role[role] = SETTINGS_MOST;
    return rc == -EINVAL && reserve ? 0 : rc ? err_set(err, rc, "%s", why.msg) : 0;
}

/* Which settings the fresh rounds have besides `none`, from their times in the search. */
struct fresh_plan {
    size_t leader, simplest, possible; /* settings */
    double left_s, round_s;            /* round_s: a round without `none` */
    unsigned least;                    /* rounds that must fit before further arms join */
};

/* The time of `none` is not known yet. So the other arms may take only this share of the time, and
 * those with fewer cores join only up to a smaller share. */
static const double others_share = 0.58, fewer_share = 0.35;

/* True if a round has room for an arm that takes this long; then its time is counted. */
static bool has_room(struct fresh_plan *plan, double more_s, double share)
{
    bool room = (plan->round_s + more_s) * plan->least <= plan->left_s * share;
    plan->round_s += room ? more_s : 0;
    return room;
}

/* Adds `none` and the simplest; then the others, if there is time for enough rounds. */
static int add_all(struct tune *tune, struct result *result, struct fresh_plan *plan,
                   struct err *err)
{
    const struct setting *all = tune->settings.all;
    const struct setting none = {.placement = PLACE_NONE,
                                 .workers = all[plan->leader].workers,
                                 .variant.plan = tune->tried.common};
    unsigned cores = count_cores(tune);
    double simplest_s = plan->round_s = tune_took_s(result, all[plan->simplest].arm);
    bool possible = plan->possible != plan->simplest &&
                    has_room(plan, tune_took_s(result, all[plan->possible].arm), others_share);
    bool leader = plan->leader != plan->simplest &&
                  has_room(plan, tune_took_s(result, all[plan->leader].arm), others_share);
    bool quarter = cores / 4 && has_room(plan, simplest_s, fewer_share);
    bool half = quarter && cores / 2 > cores / 4 && has_room(plan, simplest_s, fewer_share);
    const struct {
        bool wanted;
        enum tune_role role;
        const struct setting *of;
        unsigned reserve;
    } fresh[] = {
        {true, TUNE_NONE, &none, 0},
        {true, TUNE_SIMPLEST, &all[plan->simplest], 0},
        {possible, TUNE_POSSIBLE, &all[plan->possible], 0},
        {leader, TUNE_LEADER, &all[plan->leader], 0},
        {quarter, TUNE_QUARTER, &all[plan->simplest], cores / 4},
        {half, TUNE_HALF, &all[plan->simplest], cores / 2},
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]) && !rc; i++)
        if (fresh[i].wanted)
            rc = add_fresh(tune, result, fresh[i].role, fresh[i].of, fresh[i].reserve, err);
    if (!leader)
        tune->role[TUNE_LEADER] = tune->role[TUNE_SIMPLEST];
    return rc;
}

/* Removes settings that there was no time for, and `none`, from the search. */
static void remove_untried(struct tune *tune, struct result *result, struct fresh_plan *plan)
{
    for (size_t i = tune->nsearched; i-- > 0;) {
        const struct arm *arm = &result->arms[tune->settings.all[i].arm];
        tune->ntried += arm->nobservations > 0;
        if (arm->plan.status != PLAN_OK || arm->nobservations)
            continue;
        settings_remove(&tune->settings, i, result);
        tune->nsearched--;
        plan->leader -= plan->leader > i;
        plan->simplest -= plan->simplest > i;
        plan->possible -= plan->possible > i;
    }
}

int tune_begin_fresh(struct tune *tune, struct result *result, struct err *err)
{
    struct fresh_plan plan = {.leader = halving_leader(&tune->halving),
                              .left_s = tune->max_time_s - tune->halving.spent_s,
                              .least = tune->fresh_rounds ? tune->fresh_rounds : TUNE_FRESH_LEAST};
    if (plan.leader < tune->nsearched) {
        plan.simplest = halving_simplest(&tune->halving, plan.leader);
        plan.possible = halving_possible(&tune->halving, plan.leader);
    }
    tune->is_fresh = true;
    result->until_clear = !tune->fresh_rounds;
    for (int role = 0; role < TUNE_ROLES; role++)
        tune->role[role] = SETTINGS_MOST;
    remove_untried(tune, result, &plan);
    for (size_t i = 0; i < result->narms; i++)
        result->arms[i].idle = true;
    tune->leader = plan.leader;
    if (plan.leader == tune->nsearched)
        return 0;
    double simplest_s = tune_took_s(result, tune->settings.all[plan.simplest].arm);
    tune->pair_s = 2 * simplest_s;
    if (!tune->fresh_rounds && plan.left_s < tune->pair_s)
        return 0; /* no time; add_short reports it */
    int rc = add_all(tune, result, &plan, err);
    if (rc)
        return rc;
    if (!tune->fresh_rounds)
        result->arms[tune->settings.all[tune->role[TUNE_NONE]].arm].limit_s =
            fmax(plan.left_s - TUNE_FRESH_FEW * plan.round_s, TUNE_SLOW * simplest_s);
    result->rounds_planned += tune->fresh_rounds ? tune->fresh_rounds : 1;
    return 0;
}

/*
 * A slow `none` is in the first round, and in later ones only if it leaves time for rounds without
 * it: the comparison among the others is closer, so it needs more rounds.
 */
void tune_next_fresh(struct tune *tune, const struct analysis *analysis, struct result *result)
{
    double left_s = tune->max_time_s, others_s = 0;
    unsigned others = 0;
    if (tune->fresh_rounds || tune->role[TUNE_NONE] == SETTINGS_MOST)
        return;
    struct arm *none = &result->arms[tune->settings.all[tune->role[TUNE_NONE]].arm];
    size_t simplest = tune->settings.all[tune->role[TUNE_SIMPLEST]].arm;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        for (size_t o = 0; o < arm->nobservations; o++)
            left_s -= arm->observations[o].took_s;
        if (arm != none && !arm->idle && arm->nobservations) {
            others++;
            others_s += tune_took_s(result, i);
        }
    }
    size_t done = result->arms[simplest].nobservations;
    double none_s = tune_took_s(result, (size_t)(none - result->arms));
    bool slow = others > 1 && none_s > 2 * others_s;
    bool few = done < TUNE_FRESH_LEAST;
    double reserved_s = slow && few ? (double)(TUNE_FRESH_LEAST - done) * others_s : others_s;
    none->idle = none_s + reserved_s > left_s;
    bool without = others > 1 && few && others_s <= left_s;
    tune->pair_s = none_s + tune_took_s(result, simplest);
    bool goes_on = done < TUNE_FRESH_MOST && (!none->idle || without) &&
                   !(result->until_clear && clear_is_reached(analysis));
    result->rounds_planned = result->rounds_done + goes_on;
}
