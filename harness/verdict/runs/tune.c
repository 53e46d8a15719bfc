#include "harness/verdict/runs/tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/verdict/recommend.h"

/* With slow settings, SEARCHED_LEAST of them are tried before there are many fresh rounds. */
enum { SEARCHED_LEAST = 4, FEW_ROOM = 8 };
/* A setting may take this share of the time, or TUNE_SLOW times as long as the quickest. */
static const double arm_share = 0.05;

void tune_free(struct tune *tune)
{
    halving_free(&tune->halving);
    settings_free(&tune->settings);
    free(tune->arms);
    free(tune->rates);
    tune->arms = NULL;
    tune->rates = NULL;
}

const char *tune_format_time(double seconds)
{
    bool minutes = seconds > 90;
    return str_fmt(minutes ? "%.0fm" : "%.0f", ceil(minutes ? seconds / 60 : seconds));
}

static struct arm *arm_of(const struct tune *tune, const struct result *result, size_t setting)
{
    return &result->arms[tune->settings.all[setting].arm];
}

static bool is_untried(const struct tune *tune, const struct result *result, size_t setting)
{
    const struct arm *arm = arm_of(tune, result, setting);
    return arm->plan.status == PLAN_OK && arm->placement != PLACE_NONE && !arm->nobservations;
}

/* Makes a setting join the search's next rounds, or leave them. */
static void set_idle(struct tune *tune, struct result *result, size_t setting, bool idle)
{
    tune->arms[setting].dropped = idle;
    arm_of(tune, result, setting)->idle = idle;
}

/* True for an unchanged placement. */
static bool is_plain(const struct tune *tune, size_t setting)
{
    return !settings_is_changed(&tune->settings.all[setting]);
}

/*
 * The setting that is tried first, alone. Its time shows how many settings fit, and it reads the
 * files that all settings need into the page cache. `sized`, because its teams do not collapse,
 * else the simplest.
 */
static size_t find_first(const struct tune *tune, const struct result *result)
{
    size_t first = tune->nsearched;
    int best = 0;
    for (size_t i = tune->nsearched; i-- > 0;) {
        int rank = 1 + is_plain(tune, i) +
                   (is_plain(tune, i) && tune->settings.all[i].placement == PLACE_SIZED);
        if (is_untried(tune, result, i) && rank >= best) {
            best = rank;
            first = i;
        }
    }
    return first;
}

int tune_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                 struct result *result, struct err *err)
{
    struct tune *tune = arg;
    tune->topo = topo;
    tune->request = *request;
    result->within = tune->tolerance;
    tune->tried.common.cpus = result->plan.cpus; /* of servers those that their clients leave */
    tune->tried.most = SETTINGS_MOST - TUNE_ROLES;
    int rc = settings_add(topo, request, &tune->tried, &tune->settings, result, err);
    size_t n = tune->nsearched = tune->settings.n;
    tune->arms = calloc(n + 1, sizeof(*tune->arms));
    tune->rates = calloc(n + 1, sizeof(*tune->rates));
    if (!rc && (!tune->arms || !tune->rates))
        rc = err_set(err, -ENOMEM, "no memory for %zu settings", n);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        bool possible = is_untried(tune, result, i);
        tune->npossible += possible;
        tune->nplain += possible && is_plain(tune, i);
        tune->arms[i] =
            (struct halving_arm){.effort = tune->settings.all[i].effort, .failed = !possible};
        set_idle(tune, result, i, true);
    }
    size_t first = find_first(tune, result);
    if (first == n)
        return err_set(err, -EINVAL,
                       "only placement none is possible here: name others by --placement");
    set_idle(tune, result, first, false);
    tune->may_add_settings = true;
    tune->halving = (struct halving){.n = n, .arms = tune->arms, .tolerance = tune->tolerance};
    return 0;
}

/* Median time of the settings tried, each in its last round. Not the mean: some settings may
 * collapse. */
static double usual_s(struct tune *tune, const struct result *result)
{
    size_t n = 0;
    for (size_t i = 0; i < tune->nsearched; i++)
        if (arm_of(tune, result, i)->nobservations)
            tune->rates[n++] = tune_took_s(result, tune->settings.all[i].arm);
    return stats_sort_median(tune->rates, n);
}

/* The time of the search: fresh rounds have priority, but a few settings are always tried. */
static double budget_s(double arm_s, double time_s)
{
    double pair_s = 2 * arm_s;
    double most_s = fmin(time_s * TUNE_SEARCH_SHARE, time_s - TUNE_FRESH_LEAST * pair_s);
    return fmax(most_s, fmin(SEARCHED_LEAST * arm_s, time_s - pair_s));
}

static void plan_search(struct tune *tune, const struct result *result)
{
    tune->arm_s = fmax(usual_s(tune, result), 1e-6);
    tune->halving.budget_s = budget_s(tune->arm_s, tune->max_time_s);
}

/* How many known settings stay in a round with this room, and how many new ones join if `left`
 * stay. */
static size_t room_for_known(size_t room)
{
    return room < FEW_ROOM ? 1 : room / 4;
}

static size_t room_for_new(size_t room, size_t left)
{
    size_t most = room > left ? room - left : 0;
    return room >= FEW_ROOM && most > room / 2 ? room / 2 : most;
}

static size_t room_in(double seconds, double arm_s)
{
    return (size_t)fmin(fmax(seconds, 0) / arm_s + 1e-6, SETTINGS_MOST);
}

/* The number of settings that this time allows, if each takes as long as those already tried. Up to
 * two simple settings may stay besides the best. */
static size_t expect_tried(const struct tune *tune, double time_s)
{
    double left_s = budget_s(tune->arm_s, time_s) - tune->arm_s;
    size_t tried = 1;
    for (;;) {
        size_t room = room_in(left_s, tune->arm_s), left = room_for_known(room) + 2;
        left = left < tried ? left : tried;
        /* The unchanged placements have a round of their own. After that, each round tries about
         * half of the remaining settings. */
        size_t n = room_for_new(room, left), untried = tried < tune->nplain
                                                           ? tune->nplain - tried
                                                           : (tune->npossible - tried + 1) / 2;
        n = n < untried ? n : untried;
        if (room < 2 || !n)
            return tried;
        tried += n;
        left_s -= (double)(left + n) * tune->arm_s;
    }
}

double tune_time_for_all(const struct tune *tune)
{
    double time_s = tune->max_time_s;
    while (expect_tried(tune, time_s) < tune->npossible)
        time_s *= 1.05;
    return time_s;
}

bool tune_read_time(const struct tune *tune, char *buf, size_t size)
{
    size_t tried = expect_tried(tune, tune->max_time_s);
    if (tried >= tune->npossible)
        return false;
    (void)snprintf(buf, size,
                   "a setting takes %s s: there is time for about %zu of %zu settings; "
                   "--max-time %s tries all",
                   units_plain(tune->arm_s, 3), tried, tune->npossible,
                   tune_format_time(tune_time_for_all(tune)));
    return true;
}

/* Postpones new settings if the time turns out to be too short. */
void tune_after_arm(struct tune *tune, struct result *result)
{
    if (!tune->may_add_settings)
        return;
    plan_search(tune, result);
    double gone_s = tune->halving.spent_s;
    size_t left = 0;
    for (size_t i = 0; i < tune->nsearched; i++) {
        const struct arm *arm = arm_of(tune, result, i);
        size_t n = arm->nobservations;
        bool seen = n && arm->observations[n - 1].round == result->rounds_done;
        gone_s += seen ? arm->observations[n - 1].took_s : 0;
        left += !seen && !arm->idle;
    }
    for (size_t i = tune->nsearched;
         i-- > 0 && gone_s + (double)left * tune->arm_s > tune->halving.budget_s;)
        if (is_untried(tune, result, i) && !tune->arms[i].dropped) {
            set_idle(tune, result, i, true);
            left--;
        }
}

/* The order in which kinds of settings are tried. */
enum kind {
    PLAIN,     /* placements as they are */
    PROMISING, /* one change more than a setting that was tried and is still in the search */
    ANY,
    KINDS
};

static bool is_promising(const struct tune *tune, const struct result *result, size_t setting)
{
    const struct setting *all = tune->settings.all;
    bool promising = false;
    for (size_t i = 0; i < tune->nsearched && !promising; i++)
        promising = !tune->arms[i].dropped && arm_of(tune, result, i)->nobservations &&
                    settings_adds_to(&all[setting], &all[i]);
    return promising;
}

static bool is_of(const struct tune *tune, const struct result *result, size_t setting,
                  enum kind kind)
{
    return tune->arms[setting].dropped && is_untried(tune, result, setting) &&
           (kind == PLAIN       ? is_plain(tune, setting)
            : kind == PROMISING ? is_promising(tune, result, setting)
                                : true);
}

/* At most `most` settings of this kind join. */
static size_t join(struct tune *tune, struct result *result, size_t most, enum kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < tune->nsearched && n < most; i++)
        if (is_of(tune, result, i, kind)) {
            set_idle(tune, result, i, false);
            n++;
        }
    return n;
}

/* Cuts off slower settings: how much slower they are does not matter. */
static void limit_arms(const struct tune *tune, struct result *result)
{
    double quickest_s = INFINITY;
    for (size_t i = 0; i < tune->nsearched; i++)
        if (arm_of(tune, result, i)->nobservations && !tune->arms[i].failed)
            quickest_s = fmin(quickest_s, tune_took_s(result, tune->settings.all[i].arm));
    for (size_t i = 0; i < tune->nsearched && isfinite(quickest_s); i++)
        arm_of(tune, result, i)->limit_s =
            fmax(TUNE_SLOW * quickest_s, tune->max_time_s * arm_share);
}

/*
 * Lets further settings join, if there is time. Known settings get a quarter of it, new ones half,
 * so that the rest can follow up on the new ones.
 */
static bool add_settings(struct tune *tune, struct result *result)
{
    plan_search(tune, result);
    size_t room = room_in(tune->halving.budget_s - tune->halving.spent_s, tune->arm_s);
    size_t untried = 0, n = 0;
    for (size_t i = 0; i < tune->nsearched; i++)
        untried += is_of(tune, result, i, ANY);
    if (!untried || room < 2 || (result->rounds_done > 1 && !halving_left(&tune->halving)))
        return false;
    halving_make_room(&tune->halving, room_for_known(room));
    size_t most = room_for_new(room, halving_left(&tune->halving));
    for (enum kind kind = PLAIN; kind < KINDS && !n; kind++)
        n = join(tune, result, most, kind);
    limit_arms(tune, result);
    return n > 0;
}

/* Records rates and times of the last round. */
static int record(struct tune *tune, const struct analysis *analysis, struct result *result,
                  struct err *err)
{
    unsigned round = result->rounds_done - 1;
    double seconds = 0;
    for (size_t i = 0; i < tune->nsearched; i++) {
        size_t arm = tune->settings.all[i].arm;
        const struct round_fields *fields = rounds_find(&analysis->rounds, (int)arm, round);
        tune->rates[i] = fields ? fields->throughput : NAN;
        if (slo_judge_arm(analysis, &result->arms[arm]) == SLO_BROKEN)
            tune->rates[i] *= 1e-100; /* behind all that hold it */
        seconds += result->arms[arm].idle ? 0 : tune_took_s(result, arm);
    }
    return halving_record(&tune->halving, tune->rates, seconds, err);
}

int tune_next(struct tune *tune, const struct analysis *analysis, struct result *result,
              struct err *err)
{
    if (tune->is_fresh) {
        tune_next_fresh(tune, analysis, result);
        return 0;
    }
    int rc = record(tune, analysis, result, err);
    if (rc)
        return rc;
    result->rounds_planned = result->rounds_done;
    tune->may_add_settings = add_settings(tune, result);
    if (!tune->may_add_settings && !halving_goes_on(&tune->halving))
        return tune_begin_fresh(tune, result, err);
    for (size_t i = 0; i < tune->nsearched; i++)
        arm_of(tune, result, i)->idle = tune->arms[i].dropped;
    result->rounds_planned++;
    return 0;
}
