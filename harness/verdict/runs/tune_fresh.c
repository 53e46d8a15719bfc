/* Chooses the arms and the number of fresh rounds after a search. */
#include <errno.h>
#include <math.h>

#include "harness/verdict/recommend.h"
#include "harness/verdict/runs/tune.h"

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
