#include "harness/verdict/runs/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/runs/sizing.h"

/* "server_p99 10%", or with ':' for the first '_'. */
static int parse_protect(struct mix *mix, struct err *err)
{
    int used = 0;
    const struct neighbours *jobs = mix->jobs;
    const char *known = "", *text = mix->protect ? mix->protect : "";
    const size_t length = strcspn(text, " ");
    text_set(mix->metric, "%.*s", (int)length, text);
    if (strchr(mix->metric, ':'))
        *strchr(mix->metric, ':') = '_';
    if (sscanf(text + length, "%lf %%%n", &mix->within, &used) != 1 || !used ||
        text[length + (size_t)used])
        mix->within = NAN;
    mix->within /= 100;
    if (mix->protect && !(mix->within > 0 && mix->within < 10))
        return err_set(err, -EINVAL,
                       "option '--protect': '%.80s' is not METRIC PERCENT, as in 'server_p99 10%%'",
                       text);
    for (const struct bench_metric *metric = jobs->metrics; metric->name; metric++)
        if (!metric->hidden)
            str_add(&known, ", ", "%s", metric->name);
    if (mix->protect && !bench_metric_find(&jobs->bench, mix->metric))
        return err_set(err, -EINVAL, "option '--protect': no job has a metric '%s'; known: %s",
                       mix->metric, known);
    return 0;
}

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
    unsigned workers = neighbours_workers(mix->jobs), before = 0;
    int gpus[NEIGHBOURS_WORKERS];
    for (unsigned j = 0; j < alone; j++) {
        before += j ? workers : 0;
        workers = (unsigned)mix->jobs->all[j].workers;
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
    const struct neighbours *jobs = maker->mix->jobs;
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

/* The job of the protected metric, or the first. */
static size_t lead_of(const struct mix *mix)
{
    size_t lead = 0;
    for (size_t j = 0; j < mix->jobs->n; j++) {
        const size_t length = strlen(mix->jobs->all[j].name);
        if (!strncmp(mix->metric, mix->jobs->all[j].name, length) && mix->metric[length] == '_')
            lead = j;
    }
    return lead;
}

static int add_divisions(struct maker *maker, struct err *err)
{
    const struct neighbours *jobs = maker->mix->jobs;
    const size_t lead = lead_of(maker->mix);
    const unsigned own = (unsigned)jobs->all[lead].workers, others = neighbours_workers(jobs) - own;
    unsigned counts[SIZING_MOST], of[NEIGHBOURS_MOST];
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
    int rc = parse_protect(mix, err);
    for (size_t p = 0; p < request->nplacements && !rc; p++)
        rc = add_arm(&maker, request->placements[p], 0, NULL,
                     placement_infos[request->placements[p]].name, err);
    if (!rc)
        rc = add_divisions(&maker, err);
    for (unsigned j = 0; j < mix->jobs->n && !rc; j++) {
        const char *name = str_fmt(ARM_ALONE "%s", mix->jobs->all[j].name);
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

static bool is_cost(const struct mix *mix)
{
    const struct bench_metric *metric = bench_metric_find(&mix->jobs->bench, mix->metric);
    return metric && !strcmp(metric->better, "lower");
}

/* The protected metric of an arm against that of its job alone. */
static struct evidence against_alone(const struct mix *mix, const struct analysis *analysis,
                                     size_t arm)
{
    const struct round_value like = {.metric = mix->metric};
    const struct evidence_rule rule = {.within = mix->within};
    size_t alone = 0;
    while (analysis->result->arms[alone].alone != lead_of(mix) + 1)
        alone++;
    const struct evidence_group groups[2] = {evidence_find_group(analysis, alone, &like),
                                             evidence_find_group(analysis, arm, &like)};
    return groups[0].n && groups[1].n ? evidence_of_groups(analysis, groups, &rule) : evidence_none;
}

/* "taskset -c 0-3 env OMP_NUM_THREADS=4 redis-server & ..." of the arm. */
static void put_command(const struct analysis *analysis, const struct arm *arm, char *out,
                        size_t size)
{
    const char *text = "";
    for (unsigned w = 0; w < arm->plan.nworkers; w++) {
        const struct plan_worker *worker = &arm->plan.workers[w];
        const struct neighbour *job = neighbour_of(analysis->result->neighbours, 0, w, NULL);
        str_add(&text, " & ", "%s", "");
        if (placement_infos[arm->placement].pinned)
            str_add(&text, "", "taskset -c %s ", bitset_format(&worker->cpus));
        str_add(&text, "", "env OMP_NUM_THREADS=%u", worker->threads);
        for (char **word = job->argv; *word; word++)
            str_add(&text, " ", "%s", text_shell_word(*word));
    }
    if (strlen(text) < size && placement_infos[arm->placement].effort > 1)
        (void)snprintf(out, size, "%s", text);
}

void mix_judge(const struct mix *mix, const struct analysis *analysis, struct findings *findings)
{
    struct finding finding = {.id = "mix"};
    struct evidence bound = evidence_none;
    double beyond = INFINITY; /* the bound, as a factor; 1: within it */
    int best = -1;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        if (!takes_part(analysis, i))
            continue;
        const struct evidence of = mix->protect ? against_alone(mix, analysis, i) : evidence_none;
        const double loss = is_cost(mix) ? of.ratio : 1 / of.ratio,
                     over = mix->protect ? fmax(loss / (1 + mix->within), 1) : 1;
        if (over < beyond ||
            (over <= beyond && analysis->rounds.arms[i].rate > analysis->rounds.arms[best].rate)) {
            best = (int)i;
            beyond = over;
            bound = of;
        }
    }
    if (best < 0)
        return;
    const struct arm *arm = &analysis->result->arms[best];
    const char *interval = advice_format_interval(&bound);
    const char *is = str_fmt("%s of alone%s%s", advice_format_ratio(bound.ratio),
                             interval[0] ? ", " : "", interval);
    if (!mix->protect)
        text_set(finding.sentence, "%s keeps most in sum", arm_name(arm));
    else if (beyond > 1)
        text_set(finding.sentence, "No placement keeps %s within %s of alone. Nearest is %s: %s",
                 mix->metric, text_percent(mix->within), arm_name(arm), is);
    else
        text_set(finding.sentence, "%s keeps %s within %s of alone (%s), and most of the rest",
                 arm_name(arm), mix->metric, text_percent(mix->within), is);
    text_add(finding.sentence, "; %s.", format_kept(analysis, best));
    put_command(analysis, arm, finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
    add_trade(analysis, findings);
}
