#include "harness/verdict/runs/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/worker/command_bench.h"
#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/runs/sizing.h"

/* "server_p99 10%", or with ':' for the first '_'. */
static int parse_protect(struct mix *mix, struct err *err)
{
    char rest;
    const struct neighbours *jobs = mix->jobs;
    const char *known = "", *text = mix->protect ? mix->protect : "";
    const size_t length = strcspn(text, " ");
    text_set(mix->metric, "%.*s", (int)length, text);
    if (strchr(mix->metric, ':'))
        *strchr(mix->metric, ':') = '_';
    if (mix->protect && sscanf(text + length, "%lf %c%c", &mix->within, &rest, &rest) != 2)
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

/* What all arms of a mix share. */
struct maker {
    struct mix *mix;
    const struct topo *topo;
    const struct arms_request *request;
    struct result *result;
    int gpus[NEIGHBOURS_WORKERS]; /* of each worker, in all arms */
};

/* `cores` of each worker, or NULL; `alone` as in struct arm. */
static int add_arm(struct maker *maker, enum placement placement, unsigned alone, unsigned workers,
                   const unsigned *cores, const char *name, struct err *err)
{
    static const bool optional = true;
    struct mix *mix = maker->mix;
    struct arms_request one = *maker->request;
    unsigned before = 0;
    for (size_t j = 0; j + 1 < alone; j++)
        before += (unsigned)mix->jobs->all[j].workers;
    if (mix->n == MIX_ARMS)
        return err_set(err, -EINVAL, "a mix has at most %d placements", MIX_ARMS);
    struct variant *variant = &mix->variants[mix->n++];
    variant->plan = maker->result->plan;
    text_set(variant->name, "%s", name);
    one.bench = &mix->jobs->bench;
    one.params = NULL;
    one.variant = variant;
    one.placements = &placement;
    one.optional = &optional;
    one.workers = &workers;
    one.nplacements = one.nworkers = 1;
    one.plan.cores = cores;
    one.plan.gpus = maker->gpus + before;
    int rc = arms_add(maker->topo, &one, maker->result, err);
    if (!rc)
        maker->result->arms[maker->result->narms - 1].alone = alone;
    return rc;
}

static int choose_gpus(struct maker *maker, struct err *err)
{
    struct plan plan;
    struct plan_request request = maker->request->plan;
    request.placement = PLACE_NONE;
    request.workers = neighbours_workers(maker->mix->jobs);
    int rc = plan_make(maker->topo, &request, &plan, err);
    for (unsigned w = 0; !rc && w < plan.nworkers; w++)
        maker->gpus[w] = plan.workers[w].gpu;
    plan_free(&plan);
    return rc;
}

/* Divides cores among the jobs but `lead`, a core for each worker first, the rest by shares. */
static void divide(const struct neighbours *jobs, size_t lead, unsigned cores, unsigned *of)
{
    double shares = 0, given = 0;
    unsigned extra = cores, last = 0;
    for (size_t j = 0; j < jobs->n; j++)
        extra -= j == lead ? 0 : (unsigned)jobs->all[j].workers;
    for (unsigned turn = 0; turn < 2; turn++)
        for (size_t j = 0; j < jobs->n; j++) {
            const struct neighbour *job = &jobs->all[j];
            const double share = job->share > 0 ? job->share : (double)job->workers;
            if (j == lead)
                continue;
            if (!turn) {
                shares += share;
                continue;
            }
            given += extra * share / shares;
            const unsigned until = (unsigned)(given + 0.5);
            of[j] = (unsigned)job->workers + until - last;
            last = until;
        }
}

/* An arm with so many cores for each job; none if that is what `partition` gives. */
static int add_division(struct maker *maker, const unsigned *of, struct err *err)
{
    const struct neighbours *jobs = maker->mix->jobs;
    const unsigned workers = neighbours_workers(jobs);
    unsigned cores[NEIGHBOURS_WORKERS], all = 0, most = 0, least = UINT32_MAX, w = 0;
    const char *name = "";
    for (size_t j = 0; j < jobs->n; j++) {
        const unsigned n = (unsigned)jobs->all[j].workers;
        str_add(&name, "+", "%u", of[j]);
        for (unsigned i = 0; i < n; i++, w++) {
            cores[w] = of[j] / n + (i < of[j] % n);
            most = cores[w] > most ? cores[w] : most;
            least = cores[w] < least ? cores[w] : least;
            all += cores[w];
        }
    }
    bool known = most - least <= (all % workers > 0);
    for (size_t i = 0; i < maker->mix->n; i++)
        known = known || !strcmp(maker->mix->variants[i].name, name);
    return known ? 0 : add_arm(maker, PLACE_PARTITION, 0, workers, cores, name, err);
}

static size_t lead_of(const struct mix *mix)
{
    for (size_t j = 0; j < mix->jobs->n; j++) {
        const char *name = mix->jobs->all[j].name;
        const size_t length = strlen(name);
        if (!strncmp(mix->metric, name, length) && mix->metric[length] == '_')
            return j;
    }
    return 0;
}

static int add_divisions(struct maker *maker, struct err *err)
{
    const struct neighbours *jobs = maker->mix->jobs;
    const size_t lead = lead_of(maker->mix);
    const unsigned workers = neighbours_workers(jobs), own = (unsigned)jobs->all[lead].workers;
    unsigned counts[SIZING_MOST], of[NEIGHBOURS_MOST];
    const unsigned all =
        sizing_count_cores(maker->topo, maker->request, PLACE_PARTITION, 1, err);
    const size_t n = all < workers ? 0 : sizing_choose_cores(all, counts);
    int rc = all ? 0 : -EINVAL;
    if (n) {
        divide(jobs, NEIGHBOURS_MOST, all, of);
        rc = add_division(maker, of, err);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        if (counts[i] < own || all - counts[i] < workers - own)
            continue;
        of[lead] = counts[i];
        divide(jobs, lead, all - counts[i], of);
        rc = add_division(maker, of, err);
    }
    return rc;
}

int mix_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                struct result *result, struct err *err)
{
    struct mix *mix = arg;
    struct maker maker = {.mix = mix, .topo = topo, .request = request, .result = result};
    int rc = parse_protect(mix, err);
    if (!rc)
        rc = choose_gpus(&maker, err);
    for (unsigned j = 0; j < mix->jobs->n && !rc; j++) {
        struct neighbour *job = &mix->jobs->all[j];
        job->bench = command_bench_find(command_bench_name(&job->options));
        rc = add_arm(&maker, PLACE_SIZED, j + 1, (unsigned)job->workers, NULL,
                     str_fmt(ARM_ALONE "%s", job->name), err);
    }
    for (size_t p = 0; p < request->nplacements && !rc; p++)
        rc = add_arm(&maker, request->placements[p], 0, neighbours_workers(mix->jobs), NULL,
                     placement_infos[request->placements[p]].name, err);
    return rc ? rc : add_divisions(&maker, err);
}

/* ---- the verdict ---- */

bool mix_is_kept(const char *metric)
{
    const size_t length = strlen(metric), end = strlen("_" NEIGHBOUR_KEPT);
    return length > end && !strcmp(metric + length - end, "_" NEIGHBOUR_KEPT);
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
    bool beaten = false;
    for (size_t i = 0; takes_part(analysis, arm) && i < analysis->result->narms; i++) {
        bool better = false, worse = !takes_part(analysis, i);
        for (size_t r = 0; r < analysis->rows.n; r++) {
            const struct row *row = &analysis->rows.row[r];
            if (row->arm != &arms[arm] || !mix_is_kept(row->metric))
                continue;
            const double other = rows_median(&analysis->rows, &arms[i], row->metric);
            better = better || other > row->median;
            worse = worse || !(other >= row->median);
        }
        beaten = beaten || (better && !worse);
    }
    return takes_part(analysis, arm) && !beaten;
}

static double kept_by(const struct analysis *analysis, size_t job, int arm)
{
    const struct neighbours *jobs = analysis->result->neighbours;
    return arm < 0 ? (double)NAN
                   : rows_median(&analysis->rows, &analysis->result->arms[arm],
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

/* The protected metric of an arm against that of its job alone. */
static struct evidence against_alone(const struct mix *mix, const struct analysis *analysis, int arm,
                                     bool less)
{
    const struct round_value like = {.metric = mix->metric};
    const struct evidence_rule rule = {
        .within = mix->within, .is_change = true, .less_is_better = less};
    size_t alone = 0;
    while (analysis->result->arms[alone].alone != lead_of(mix) + 1)
        alone++;
    const struct evidence_group groups[2] = {evidence_find_group(analysis, alone, &like),
                                             evidence_find_group(analysis, (size_t)arm, &like)};
    return groups[0].n && groups[1].n ? evidence_of_groups(analysis, groups, &rule) : evidence_none;
}

/* How much worse than alone, 1 = as alone; 0 without a bound. NaN = unknown. */
static double loss_of(const struct mix *mix, const struct analysis *analysis, int arm, bool less)
{
    const double ratio =
        mix->protect ? against_alone(mix, analysis, arm, less).ratio : less ? 0 : INFINITY;
    return less ? ratio : 1 / ratio;
}

static bool is_better(const struct mix *mix, const struct analysis *analysis, int arm, int than,
                      bool less)
{
    const double loss = loss_of(mix, analysis, arm, less), most = 1 + mix->within,
                 other = than < 0 ? (double)INFINITY : loss_of(mix, analysis, than, less);
    if (mix->protect && (loss > most || other > most))
        return loss < other;
    return than < 0 || analysis->rounds.arms[arm].rate > analysis->rounds.arms[than].rate;
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
    const struct bench_metric *metric = bench_metric_find(&mix->jobs->bench, mix->metric);
    const bool less = metric && !strcmp(metric->better, "lower");
    struct finding finding = {.id = "mix"};
    int best = -1;
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (takes_part(analysis, i) && is_better(mix, analysis, (int)i, best, less))
            best = (int)i;
    if (best < 0)
        return;
    const struct arm *arm = &analysis->result->arms[best];
    const struct evidence bound =
        mix->protect ? against_alone(mix, analysis, best, less) : evidence_none;
    const double loss = less ? bound.ratio : 1 / bound.ratio;
    if (mix->protect && isnan(loss))
        text_set(finding.sentence, "%s was not measured alone and beside the others.", mix->metric);
    else if (mix->protect && loss > 1 + mix->within)
        text_set(finding.sentence,
                 "No placement keeps %s within %s of alone. The nearest is %s: %s of alone (%s); "
                 "%s.",
                 mix->metric, text_percent(mix->within), arm_name(arm),
                 advice_format_ratio(bound.ratio), advice_format_interval(&bound),
                 format_kept(analysis, best));
    else if (mix->protect)
        text_set(finding.sentence,
                 "%s keeps %s within %s of alone (%s, %s), and most of the rest: %s.",
                 arm_name(arm), mix->metric, text_percent(mix->within),
                 advice_format_ratio(bound.ratio), advice_format_interval(&bound),
                 format_kept(analysis, best));
    else
        text_set(finding.sentence, "%s keeps most in sum: %s.", arm_name(arm),
                 format_kept(analysis, best));
    put_command(analysis, arm, finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
    add_trade(analysis, findings);
}
