#include "harness/verdict/runs/mix.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/runs/sizing.h"

_Static_assert(PLACEMENTS + SIZING_MOST + NEIGHBOURS_MOST + 2 <= MIX_ARMS,
               "placements, divisions with that by shares and one on trial, each job alone");

/* What all arms of a mix share. */
struct maker {
    struct mix *mix;
    const struct topo *topo;
    const struct arms_request *request;
    struct result *result;
    size_t first; /* of its arms, which is of all jobs */
};

/* Adds an arm of all jobs, or of one `alone` as in struct arm; `cores` of each worker, or NULL. */
static int add_arm(struct maker *maker, enum placement placement, unsigned alone,
                   const unsigned *cores, const char *name, struct err *err)
{
    static const bool optional = true;
    struct mix *mix = maker->mix;
    struct result *result = maker->result;
    struct arms_request one = *maker->request;
    const struct plan *all = alone ? &result->arms[maker->first].plan : NULL;
    unsigned workers = neighbours_workers(result->neighbours), before = 0;
    int gpus[NEIGHBOURS_WORKERS];
    for (unsigned j = 0; j < alone; j++) {
        before += j ? workers : 0;
        workers = (unsigned)result->neighbours->all[j].workers;
    }
    for (unsigned w = 0; w < workers; w++) /* those that it has beside the others */
        gpus[w] = all && all->nworkers ? all->workers[before + w].gpu : -1;
    struct variant *variant = &mix->variants[mix->n++];
    variant->plan = result->plan;
    text_set(variant->name, "%s", name);
    one.variant = variant;
    one.placements = &placement;
    one.optional = &optional;
    one.workers = &workers;
    one.nplacements = one.nworkers = 1;
    one.plan.cores = cores;
    one.plan.gpus = alone ? gpus : NULL;
    int rc = arms_add(maker->topo, &one, result, err);
    if (!rc)
        result->arms[result->narms - 1].alone = alone;
    return rc;
}

/* Divides cores among the jobs but `lead`: one for each worker, the rest by their shares. */
static void divide(const struct neighbours *jobs, size_t lead, unsigned cores, unsigned *of)
{
    double shares[NEIGHBOURS_MOST], all = 0;
    for (size_t j = 0; j < jobs->n; j++) {
        const struct neighbour *job = &jobs->all[j];
        shares[j] = j == lead ? 0 : job->share > 0 ? job->share : (double)job->workers;
        cores -= j == lead ? 0 : (unsigned)job->workers;
        all += shares[j];
    }
    for (size_t j = 0; j < jobs->n; j++) {
        if (j == lead)
            continue;
        const unsigned part = (unsigned)(cores * shares[j] / all + 0.5);
        of[j] = (unsigned)jobs->all[j].workers + part;
        cores -= part;
        all -= shares[j];
    }
}

/* Adds an arm with so many cores for each job, unless there is one with the same plan. */
static int add_division(struct maker *maker, const unsigned *of, struct err *err)
{
    const struct neighbours *jobs = maker->result->neighbours;
    struct result *result = maker->result;
    unsigned cores[NEIGHBOURS_WORKERS];
    const char *name = "";
    for (size_t j = 0; j < jobs->n; j++)
        str_add(&name, "+", "%u", of[j]);
    neighbours_spread(jobs, of, cores);
    int rc = add_arm(maker, PLACE_PARTITION, 0, cores, name, err);
    for (size_t i = maker->first; !rc && i + 1 < result->narms; i++)
        if (arm_same_plan(&result->arms[i], &result->arms[result->narms - 1])) {
            plan_free(&result->arms[--result->narms].plan);
            maker->mix->n--;
        }
    return rc;
}

static int add_divisions(struct maker *maker, struct err *err)
{
    const struct neighbours *jobs = maker->result->neighbours;
    const struct slo *slo = maker->result->slo;
    const struct neighbour *protected = slo ? neighbours_find(jobs, slo->metric, NULL) : NULL;
    const size_t lead = protected ? (size_t)(protected - jobs->all) : 0;
    const unsigned own = (unsigned)jobs->all[lead].workers, others = neighbours_workers(jobs) - own;
    unsigned counts[SIZING_MOST], of[NEIGHBOURS_MOST] = {0};
    const unsigned all = sizing_count_cores(maker->topo, maker->request, PLACE_PARTITION, 1, err);
    const size_t n = all < own + others ? 0 : sizing_choose_cores(all, counts);
    int rc = all ? 0 : -EINVAL;
    bool shares = false;
    for (size_t j = 0; j < jobs->n; j++)
        shares = shares || jobs->all[j].share > 0;
    if (n && shares) {
        divide(jobs, NEIGHBOURS_MOST, all, of);
        rc = add_division(maker, of, err);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        of[lead] = counts[i];
        if (counts[i] >= own && all - counts[i] >= others) {
            divide(jobs, lead, all - counts[i], of);
            rc = add_division(maker, of, err);
        }
    }
    return rc;
}

int mix_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                struct result *result, struct err *err)
{
    struct mix *mix = arg;
    struct maker maker = {mix, topo, request, result, result->narms};
    int rc = 0;
    for (size_t p = 0; p < request->nplacements && !rc; p++)
        rc = add_arm(&maker, request->placements[p], 0, NULL,
                     placement_infos[request->placements[p]].name, err);
    if (!rc)
        rc = add_divisions(&maker, err);
    for (unsigned j = 0; j < result->neighbours->n && !rc; j++) {
        const char *name = str_fmt(ARM_ALONE "%s", result->neighbours->all[j].name);
        rc = add_arm(&maker, PLACE_SIZED, j + 1, NULL, name, err);
    }
    return rc;
}

/* ---- the verdict ---- */

size_t mix_kept_by(const char *metric)
{
    const size_t length = strlen(metric), end = strlen("_" NEIGHBOUR_KEPT);
    const bool is_kept = length > end && !strcmp(metric + length - end, "_" NEIGHBOUR_KEPT);
    return is_kept ? length - end : 0;
}

/* True for an arm of all jobs that was measured in all rounds. */
static bool takes_part(const struct analysis *analysis, size_t arm)
{
    const struct arm *of = &analysis->result->arms[arm];
    return !of->alone && !of->is_control && analysis->rounds.arms[arm].status <= STATUS_NOISY &&
           !isnan(analysis->rounds.arms[arm].rate);
}

bool mix_is_pareto(const struct analysis *analysis, size_t arm)
{
    const struct arm *arms = analysis->result->arms;
    const double same = 0.02; /* noise is no trade */
    bool beaten = false;
    for (size_t i = 0; takes_part(analysis, arm) && i < analysis->result->narms; i++) {
        bool better = false, worse = !takes_part(analysis, i);
        for (size_t r = 0; r < analysis->rows.n; r++) {
            const struct row *row = &analysis->rows.row[r];
            if (row->arm != &arms[arm] || !mix_kept_by(row->metric))
                continue;
            const double other = rows_median(&analysis->rows, &arms[i], row->metric);
            better = better || other > row->median * (1 + same);
            worse = worse || !(other >= row->median * (1 - same));
        }
        beaten = beaten || (better && !worse);
    }
    return takes_part(analysis, arm) && !beaten;
}

static double kept_by(const struct analysis *analysis, size_t job, int arm)
{
    const struct neighbours *jobs = analysis->result->neighbours;
    return rows_median(&analysis->rows, &analysis->result->arms[arm],
                       jobs->metrics[jobs->all[job].kept].name);
}

/* The arm in which the job keeps most; -1 = none. */
static int best_for(const struct analysis *analysis, size_t job)
{
    int best = -1;
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (takes_part(analysis, i) &&
            (best < 0 || kept_by(analysis, job, (int)i) > kept_by(analysis, job, best)))
            best = (int)i;
    return best;
}

/* "server keeps 97%, batch 54%" under the arm. */
static const char *format_kept(const struct analysis *analysis, int arm)
{
    const struct neighbours *jobs = analysis->result->neighbours;
    const char *text = "";
    for (size_t j = 0; j < jobs->n; j++)
        str_add(&text, ", ", "%s%s %s", jobs->all[j].name, j ? "" : " keeps",
                text_percent(kept_by(analysis, j, arm)));
    return text;
}

static void add_trade(const struct analysis *analysis, struct findings *findings)
{
    const struct neighbours *jobs = analysis->result->neighbours;
    const struct arm *arms = analysis->result->arms;
    struct finding finding = {.id = "mix_trade"};
    const int first = best_for(analysis, 0);
    bool one = true;
    for (size_t j = 0; j < jobs->n; j++)
        one = one && best_for(analysis, j) == first;
    if (first < 0)
        return;
    if (one)
        text_set(finding.sentence, "%s is best for each job: %s of its rate alone.",
                 arm_name(&arms[first]), format_kept(analysis, first));
    for (size_t j = 0; !one && j < jobs->n; j++) {
        const int best = best_for(analysis, j);
        text_add(finding.sentence, "%s%s does most under %s (%s)%s",
                 j ? "; " : "No placement is best for all: ", jobs->all[j].name,
                 arm_name(&arms[best]), format_kept(analysis, best), j + 1 < jobs->n ? "" : ".");
    }
    findings_put(findings, &finding);
}

/* The arm that keeps the bound and most in sum; if none keeps it, the nearest. -1 = none. */
static int choose(const struct analysis *analysis, bool *keeps)
{
    double least = INFINITY; /* times worse than alone; 0 = it keeps the bound */
    int best = -1;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        if (!takes_part(analysis, i))
            continue;
        const bool holds = slo_judge_arm(analysis, arm) == SLO_HOLDS;
        const double worse =
            holds ? 0 : slo_worse(analysis, slo_against_alone(analysis, arm).ratio);
        if (worse < least ||
            (worse <= least && analysis->rounds.arms[i].rate > analysis->rounds.arms[best].rate)) {
            best = (int)i;
            least = worse;
        }
    }
    *keeps = !(least > 0);
    return best;
}

void mix_judge(const struct analysis *analysis, struct findings *findings)
{
    struct finding finding = {.id = "mix"};
    const struct slo *slo = analysis->result->slo;
    bool keeps;
    const int best = choose(analysis, &keeps);
    if (best < 0)
        return;
    const struct arm *arm = &analysis->result->arms[best];
    const struct evidence of = slo ? slo_against_alone(analysis, arm) : evidence_none;
    const char *interval = advice_format_interval(&of);
    const char *is = str_fmt("%s of alone%s%s", advice_format_ratio(of.ratio),
                             interval[0] ? ", " : "", interval);
    const char *bound =
        slo ? str_fmt("%s within %s of alone", slo->metric, text_percent(slo->value)) : "";
    if (!slo)
        text_set(finding.sentence, "%s keeps most in sum", arm_name(arm));
    else if (keeps)
        text_set(finding.sentence, "%s keeps %s (%s), and most of the rest", arm_name(arm), bound,
                 is);
    else
        text_set(finding.sentence, "%s. Nearest is %s: %s",
                 slo_judge_arm(analysis, arm) == SLO_UNCLEAR
                     ? str_fmt("Whether a placement keeps %s is unclear", bound)
                     : str_fmt("No placement keeps %s", bound),
                 arm_name(arm), is);
    text_add(finding.sentence, "; %s.", format_kept(analysis, best));
    const unsigned rounds = analysis->result->rounds_done;
    if (rounds < STATS_RANGE_BELOW) /* measured: 99% in one round was 73 to 89% when followed */
        text_add(finding.sentence,
                 " The best of %u round%s is in part the luckiest: confirm it with --rounds %d.",
                 rounds, rounds == 1 ? "" : "s", STATS_RANGE_BELOW);
    if (advice_may_advise(arm->placement))
        (void)advice_command(analysis->result, arm, finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
    add_trade(analysis, findings);
}
