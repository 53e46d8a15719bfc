#include "harness/search/tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the time, what the search may take; and of that, what a first round of all may. */
static const double search_share = 0.6, first_share = 0.4;
/* Fresh rounds: their range is an interval from five on (stats.h), and enough is enough. */
enum { FRESH_LEAST = 5, FRESH_MOST = 15, SEARCHED_LEAST = 4 };

bool tune_is_fresh(const struct arm *arm)
{
    return arm->variant && !strncmp(arm->variant->name, TUNE_FRESH, strlen(TUNE_FRESH));
}

const char *tune_name(const struct arm *arm)
{
    return arm->variant->name + (tune_is_fresh(arm) ? strlen(TUNE_FRESH) : 0);
}

void tune_free(struct tune *tune)
{
    halving_free(&tune->halving);
    settings_free(&tune->settings);
    free(tune->arms);
    free(tune->rates);
    tune->arms = NULL;
    tune->rates = NULL;
}

static bool is_possible(const struct tune *tune, const struct result *result, size_t setting)
{
    return result->arms[tune->settings.all[setting].arm].plan.status == PLAN_OK;
}

int tune_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                 struct result *result, struct err *err)
{
    struct tune *tune = arg;
    double arm_s = tune->arm_s > 0 ? tune->arm_s : 1;
    double most = fmax(tune->max_time_s * search_share * first_share / arm_s, SEARCHED_LEAST);
    tune->topo = topo;
    tune->request = *request;
    tune->tried.most = (size_t)fmin(most, SETTINGS_MOST - TUNE_ROLES);
    int rc = settings_add(topo, request, &tune->tried, &tune->settings, result, err);
    size_t n = tune->nsearched = tune->settings.n;
    tune->arms = calloc(n + 1, sizeof(*tune->arms));
    tune->rates = calloc(n + 1, sizeof(*tune->rates));
    if (!rc && (!tune->arms || !tune->rates))
        rc = err_set(err, -ENOMEM, "no memory for %zu settings", n);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        bool possible = is_possible(tune, result, i);
        tune->npossible += possible;
        tune->arms[i] = (struct halving_arm){
            .effort = tune->settings.all[i].effort, .dropped = !possible, .failed = !possible};
    }
    tune->halving = (struct halving){.n = n,
                                     .arms = tune->arms,
                                     .budget_s = tune->max_time_s * search_share,
                                     .tolerance = tune->tolerance};
    return 0;
}

/* What the last round of an arm took; 0 where it was not in it. */
static double round_seconds(const struct arm *arm, unsigned round)
{
    const struct observation *last =
        arm->nobservations ? &arm->observations[arm->nobservations - 1] : NULL;
    return last && last->round == round ? last->took_s : 0;
}

static int record(struct tune *tune, const struct analysis *analysis, struct err *err)
{
    const struct result *result = analysis->result;
    unsigned round = result->rounds_done - 1;
    double seconds = 0;
    for (size_t i = 0; i < tune->nsearched; i++) {
        size_t arm = tune->settings.all[i].arm;
        const struct round_fields *fields = rounds_find(&analysis->rounds, (int)arm, round);
        tune->rates[i] = fields ? fields->throughput : NAN;
        seconds += round_seconds(&result->arms[arm], round);
    }
    return halving_record(&tune->halving, tune->rates, seconds, err);
}

/* `none` with as many workers. */
static size_t find_none(const struct tune *tune, unsigned workers)
{
    size_t i = 0;
    while (i < tune->nsearched && (tune->settings.all[i].placement != PLACE_NONE ||
                                   tune->settings.all[i].workers != workers))
        i++;
    return i;
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
        (void)snprintf(fresh.variant.name, SIZE, TUNE_FRESH "%.28s-%u", name, reserve);
    } else {
        (void)snprintf(fresh.variant.name, SIZE, TUNE_FRESH "%.40s", name);
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

/* What a fresh round will take, from what its arms took in the search. */
static double expect_seconds(const struct tune *tune, const struct result *result)
{
    double sum_s = 0;
    for (size_t i = tune->nsearched; i < tune->settings.n; i++)
        for (size_t k = 0; k < tune->nsearched; k++) {
            const struct setting *fresh = &tune->settings.all[i], *of = &tune->settings.all[k];
            const struct arm *arm = &result->arms[of->arm];
            if (fresh->placement == of->placement && fresh->workers == of->workers &&
                arm->nobservations && arm_runs(&result->arms[fresh->arm])) {
                sum_s += arm->observations[arm->nobservations - 1].took_s;
                break;
            }
        }
    return sum_s;
}

/* Ends the search: its arms rest, and those of the fresh rounds are added. */
static int begin_fresh(struct tune *tune, struct result *result, struct err *err)
{
    size_t leader = halving_leader(&tune->halving);
    tune->is_fresh = true;
    for (size_t i = 0; i < tune->nsearched; i++)
        result->arms[tune->settings.all[i].arm].idle = true;
    for (int role = 0; role < TUNE_ROLES; role++)
        tune->role[role] = SETTINGS_MOST;
    if (leader == tune->nsearched)
        return 0; /* all failed, which others say */
    size_t simplest = halving_simplest(&tune->halving, leader);
    const struct setting *all = tune->settings.all;
    size_t none = find_none(tune, all[leader].workers);
    unsigned cores = count_cores(tune);
    int rc = add_fresh(tune, result, TUNE_NONE, &all[none], 0, err);
    if (!rc && leader != none)
        rc = add_fresh(tune, result, TUNE_LEADER, &all[leader], 0, err);
    if (!rc && simplest != leader && simplest != none)
        rc = add_fresh(tune, result, TUNE_SIMPLEST, &all[simplest], 0, err);
    tune->role[TUNE_LEADER] = leader == none ? tune->role[TUNE_NONE] : tune->role[TUNE_LEADER];
    if (simplest == leader || simplest == none)
        tune->role[TUNE_SIMPLEST] =
            simplest == none ? tune->role[TUNE_NONE] : tune->role[TUNE_LEADER];
    if (!rc)
        rc = add_fewer(tune, result, TUNE_QUARTER, &all[simplest], cores / 4, err);
    if (!rc && cores / 2 > cores / 4)
        rc = add_fewer(tune, result, TUNE_HALF, &all[simplest], cores / 2, err);
    double left_s = tune->max_time_s - tune->halving.spent_s;
    double room = left_s / fmax(expect_seconds(tune, result), 0.1);
    unsigned rounds = (unsigned)fmin(fmax(room, FRESH_LEAST), FRESH_MOST);
    result->rounds_planned += tune->fresh_rounds ? tune->fresh_rounds : rounds;
    return rc;
}

int tune_next(struct tune *tune, const struct analysis *analysis, struct result *result,
              struct err *err)
{
    if (tune->is_fresh)
        return 0;
    int rc = record(tune, analysis, err);
    if (rc)
        return rc;
    result->rounds_planned = result->rounds_done;
    if (!halving_goes_on(&tune->halving))
        return begin_fresh(tune, result, err);
    for (size_t i = 0; i < tune->nsearched; i++)
        result->arms[tune->settings.all[i].arm].idle = tune->arms[i].dropped;
    result->rounds_planned++;
    return 0;
}
