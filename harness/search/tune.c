#include "harness/search/tune_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the time, what the search may take; and of that, what a first round may, `none` aside. */
static const double search_share = TUNE_SEARCH_SHARE, first_share = 0.4;
enum { SEARCHED_LEAST = 4 };

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
    result->within = tune->tolerance;
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
        tune->ntried += possible;
        tune->arms[i] = (struct halving_arm){
            .effort = tune->settings.all[i].effort, .dropped = !possible, .failed = !possible};
    }
    tune->halving = (struct halving){.n = n,
                                     .arms = tune->arms,
                                     .budget_s = tune->max_time_s * search_share,
                                     .tolerance = tune->tolerance};
    return 0;
}

/* Of the first round, which is under way. */
struct first_round {
    unsigned nones, others; /* settings measured: `none`, by worker counts, and others */
    double nones_s, others_s;
    unsigned nones_left, others_left; /* that are still to come */
};

static bool is_waiting(const struct tune *tune, const struct result *result, size_t setting)
{
    const struct arm *arm = &result->arms[tune->settings.all[setting].arm];
    return arm_runs(arm) && !arm->idle && !arm->nobservations;
}

static struct first_round look_at_first(const struct tune *tune, const struct result *result)
{
    struct first_round first = {0};
    for (size_t i = 0; i < tune->nsearched; i++) {
        bool none = tune->settings.all[i].placement == PLACE_NONE;
        double took_s = tune_took_s(result, tune->settings.all[i].arm);
        if (is_waiting(tune, result, i))
            *(none ? &first.nones_left : &first.others_left) += 1;
        *(none ? &first.nones : &first.others) += took_s > 0;
        *(none ? &first.nones_s : &first.others_s) += took_s;
    }
    return first;
}

/* How long the first round would still take, beyond what it may. */
static double excess_s(const struct tune *tune, const struct first_round *first)
{
    double time_s = tune->max_time_s, other_s = first->others_s / first->others;
    double none_s = first->nones ? first->nones_s / first->nones : other_s;
    double share_s = fmax(time_s * search_share * first_share, other_s * SEARCHED_LEAST);
    double all_nones_s = first->nones_s + none_s * first->nones_left;
    double pair_s = none_s + other_s;
    double may_s = fmax(fmin(share_s + all_nones_s, time_s - pair_s), pair_s);
    return all_nones_s + first->others_s + other_s * first->others_left - may_s;
}

void tune_after_arm(struct tune *tune, struct result *result)
{
    struct first_round first = look_at_first(tune, result);
    if (result->rounds_done || !first.others) /* how `none` collapses says nothing of them */
        return;
    for (size_t i = tune->nsearched; i-- > 0 && excess_s(tune, &first) > 0;)
        if (is_waiting(tune, result, i)) {
            bool none = tune->settings.all[i].placement == PLACE_NONE;
            result->arms[tune->settings.all[i].arm].idle = true;
            *(none ? &first.nones_left : &first.others_left) -= 1;
        }
}

/* Behind the first round: settings that it had no time for are none of the search. */
static void remove_untried(struct tune *tune, struct result *result)
{
    for (size_t i = tune->nsearched; i-- > 0;) {
        const struct arm *arm = &result->arms[tune->settings.all[i].arm];
        if (!arm->idle || arm->nobservations)
            continue;
        settings_remove(&tune->settings, i, result);
        size_t behind = --tune->nsearched - i;
        memmove(&tune->arms[i], &tune->arms[i + 1], behind * sizeof(*tune->arms));
        memmove(&tune->rates[i], &tune->rates[i + 1], behind * sizeof(*tune->rates));
        tune->ntried--;
    }
    tune->halving.n = tune->nsearched;
    double fresh_s = TUNE_FRESH_LEAST * tune_pair_s(tune, result);
    tune->halving.budget_s = fmin(tune->halving.budget_s, tune->max_time_s - fresh_s);
}

/* Rates and times of the last round, and how the search goes on from it. */
static int record(struct tune *tune, const struct analysis *analysis, struct result *result,
                  struct err *err)
{
    unsigned round = result->rounds_done - 1;
    double seconds = 0;
    for (size_t i = 0; i < tune->nsearched; i++) {
        size_t arm = tune->settings.all[i].arm;
        const struct round_fields *fields = rounds_find(&analysis->rounds, (int)arm, round);
        tune->rates[i] = fields ? fields->throughput : NAN;
        seconds += result->arms[arm].idle ? 0 : tune_took_s(result, arm);
    }
    if (!round)
        remove_untried(tune, result);
    return halving_record(&tune->halving, tune->rates, seconds, err);
}

/* Fresh rounds that take longer than was expected are fewer. */
static void keep_time(struct tune *tune, struct result *result)
{
    double spent_s = 0, round_s = 0;
    for (size_t i = 0; i < result->narms; i++) {
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            spent_s += result->arms[i].observations[o].took_s;
        round_s += result->arms[i].idle ? 0 : tune_took_s(result, i);
    }
    if (tune->fresh_rounds || spent_s + round_s <= tune->max_time_s)
        return;
    tune->fresh_planned -= result->rounds_planned - result->rounds_done;
    result->rounds_planned = result->rounds_done;
}

int tune_next(struct tune *tune, const struct analysis *analysis, struct result *result,
              struct err *err)
{
    if (tune->is_fresh) {
        keep_time(tune, result);
        return 0;
    }
    int rc = record(tune, analysis, result, err);
    if (rc)
        return rc;
    result->rounds_planned = result->rounds_done;
    if (!halving_goes_on(&tune->halving))
        return tune_begin_fresh(tune, result, err);
    for (size_t i = 0; i < tune->nsearched; i++)
        result->arms[tune->settings.all[i].arm].idle = tune->arms[i].dropped;
    result->rounds_planned++;
    return 0;
}
