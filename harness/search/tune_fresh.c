/* From what a search found to the arms and the number of its fresh rounds. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "harness/search/tune_parts.h"

double tune_took_s(const struct result *result, size_t arm)
{
    const struct arm *of = &result->arms[arm];
    return of->nobservations ? of->observations[of->nobservations - 1].took_s : 0;
}

double tune_pair_s(const struct tune *tune, const struct result *result)
{
    double sum_s[2] = {0};
    unsigned n[2] = {0};
    for (size_t i = 0; i < tune->nsearched; i++) {
        bool none = tune->settings.all[i].placement == PLACE_NONE;
        double took_s = tune_took_s(result, tune->settings.all[i].arm);
        n[none] += took_s > 0;
        sum_s[none] += took_s;
    }
    double none_s = n[1] ? sum_s[1] / n[1] : 0, other_s = n[0] ? sum_s[0] / n[0] : none_s;
    return (n[1] ? none_s : other_s) + other_s;
}

double tune_time_for_fresh(const struct tune *tune)
{
    return TUNE_FRESH_LEAST * tune->pair_s / (1 - TUNE_SEARCH_SHARE);
}

/* `none` with as many workers; nsearched = there was no time for it. */
static size_t find_none(const struct tune *tune, unsigned workers)
{
    size_t i = 0;
    while (i < tune->nsearched && (tune->settings.all[i].placement != PLACE_NONE ||
                                   tune->settings.all[i].workers != workers))
        i++;
    return i;
}

static struct setting make_none(const struct tune *tune, unsigned workers)
{
    size_t none = find_none(tune, workers);
    if (none < tune->nsearched)
        return tune->settings.all[none];
    struct setting made = {.placement = PLACE_NONE, .workers = workers, .plan = tune->tried.common};
    (void)snprintf(made.variant.name, sizeof(made.variant.name), "none+%uw", workers);
    return made;
}

/* Cores that the plans may use. */
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

static int add_fresh(struct tune *tune, struct result *result, enum tune_role role,
                     const struct setting *of, unsigned reserve, struct err *err)
{
    struct setting fresh = *of;
    const char *name = of->variant.name;
    enum { SIZE = sizeof(fresh.variant.name) };
    if (reserve) {
        fresh.plan.reserve += reserve;
        (void)snprintf(fresh.variant.name, SIZE, ARM_FRESH "%.28s-%u", name, reserve);
    } else {
        (void)snprintf(fresh.variant.name, SIZE, ARM_FRESH "%.40s", name);
    }
    tune->role[role] = tune->settings.n;
    return settings_add_one(tune->topo, &tune->request, &fresh, &tune->settings, result, err);
}

/* With fewer cores, where that leaves enough: else there is none. */
static int add_fewer(struct tune *tune, struct result *result, enum tune_role role,
                     const struct setting *of, unsigned reserve, struct err *err)
{
    struct err why;
    if (!reserve)
        return 0;
    int rc = add_fresh(tune, result, role, of, reserve, &why);
    if (rc)
        tune->role[role] = SETTINGS_MOST;
    return rc == -EINVAL ? 0 : rc ? err_set(err, rc, "%s", why.msg) : 0;
}

/* Who is in the fresh rounds, and how many there are, by what their settings took in the search. */
struct fresh_plan {
    size_t none, leader, simplest, near; /* settings */
    double left_s, round_s;
    unsigned least; /* rounds that come before further arms */
};

/* Whether a round may have one more that takes so long; then it is counted. */
static bool has_room(struct fresh_plan *plan, double more_s)
{
    bool room = (plan->round_s + more_s) * plan->least <= plan->left_s;
    plan->round_s += room ? more_s : 0;
    return room;
}

static int add_pair(struct tune *tune, struct result *result, const struct fresh_plan *plan,
                    bool leader_too, struct err *err)
{
    const struct setting *all = tune->settings.all;
    const struct setting none = make_none(tune, all[plan->leader].workers);
    int rc = add_fresh(tune, result, TUNE_NONE, &none, 0, err);
    tune->role[TUNE_SIMPLEST] = tune->role[TUNE_LEADER] = tune->role[TUNE_NONE];
    if (!rc && plan->simplest != plan->none) {
        rc = add_fresh(tune, result, TUNE_SIMPLEST, &all[plan->simplest], 0, err);
        tune->role[TUNE_LEADER] = tune->role[TUNE_SIMPLEST];
    }
    if (!rc && leader_too)
        rc = add_fresh(tune, result, TUNE_LEADER, &all[plan->leader], 0, err);
    return rc;
}

/* The pair at least; then, where there is time for enough rounds, the others in their order. */
static int add_all(struct tune *tune, struct result *result, struct fresh_plan *plan,
                   struct err *err)
{
    const struct setting *all = tune->settings.all;
    unsigned cores = count_cores(tune);
    double simplest_s = tune_took_s(result, all[plan->simplest].arm);
    double leader_s = tune_took_s(result, all[plan->leader].arm);
    bool differ = plan->leader != plan->simplest && plan->leader != plan->none;
    /* Of `none` as the simplest, the leader is the other one of the pair. */
    bool leader_too = differ && (plan->simplest == plan->none || has_room(plan, leader_s));
    bool near = plan->near != plan->simplest && plan->near != plan->leader &&
                plan->near != plan->none &&
                has_room(plan, tune_took_s(result, all[plan->near].arm));
    bool quarter = cores / 4 && has_room(plan, simplest_s);
    bool half = quarter && cores / 2 > cores / 4 && has_room(plan, simplest_s);
    int rc = add_pair(tune, result, plan, leader_too, err);
    if (!rc && near)
        rc = add_fresh(tune, result, TUNE_NEAR, &all[plan->near], 0, err);
    if (!rc && quarter)
        rc = add_fewer(tune, result, TUNE_QUARTER, &all[plan->simplest], cores / 4, err);
    if (!rc && half)
        rc = add_fewer(tune, result, TUNE_HALF, &all[plan->simplest], cores / 2, err);
    return rc;
}

/* What the pair takes that every fresh round has; `none` alone where that leads. */
static double find_round_s(const struct tune *tune, const struct result *result,
                           const struct fresh_plan *plan)
{
    const struct setting *all = tune->settings.all;
    if (plan->none == tune->nsearched) /* there was no time for it */
        return tune->pair_s;
    double none_s = tune_took_s(result, all[plan->none].arm);
    if (plan->leader == plan->none)
        return none_s;
    size_t other = plan->simplest == plan->none ? plan->leader : plan->simplest;
    return none_s + tune_took_s(result, all[other].arm);
}

int tune_begin_fresh(struct tune *tune, struct result *result, struct err *err)
{
    size_t leader = halving_leader(&tune->halving);
    tune->is_fresh = true;
    tune->pair_s = tune_pair_s(tune, result);
    for (size_t i = 0; i < tune->nsearched; i++)
        result->arms[tune->settings.all[i].arm].idle = true;
    for (int role = 0; role < TUNE_ROLES; role++)
        tune->role[role] = SETTINGS_MOST;
    tune->leader = leader;
    if (leader == tune->nsearched)
        return 0;
    struct fresh_plan plan = {.none = find_none(tune, tune->settings.all[leader].workers),
                              .leader = leader,
                              .simplest = halving_possible(&tune->halving, leader),
                              .near = halving_simplest(&tune->halving, leader),
                              .left_s = tune->max_time_s - tune->halving.spent_s,
                              .least = tune->fresh_rounds ? tune->fresh_rounds : TUNE_FRESH_LEAST};
    tune->pair_s = plan.round_s = fmax(find_round_s(tune, result, &plan), 0.001);
    if (!tune->fresh_rounds && plan.left_s < plan.round_s)
        return 0; /* no time, which is said */
    int rc = add_all(tune, result, &plan, err);
    unsigned room = (unsigned)fmin(fmax(plan.left_s / plan.round_s, 1), TUNE_FRESH_MOST);
    tune->fresh_planned = tune->fresh_rounds ? tune->fresh_rounds : room;
    result->rounds_planned += tune->fresh_planned;
    return rc;
}
