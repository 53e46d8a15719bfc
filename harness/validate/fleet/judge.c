#include "harness/validate/fleet/judge_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/stats/stats.h"
#include "harness/validate/fleet/spread.h"

/* Overall: worse by so much, and by so many spreads of the fleet. */
#define OVERALL_LEAST 0.05
#define OVERALL_SPREADS 5
#define OVERALL_PRIOR 0.03

/* Ranks: another kind before what its own rules refused, that before what lacks something, and that
 * before any figure. */
enum {
    OVERALL_FIGURES = 20,
    OVERALL_MACHINES = 20,
    KIND_SCORE = 1000000,
    VERDICT_SCORE = 500000,
    LACKS_SCORE = 1000,
    DEAD_SCORE = 100
};

const char *fleet_offence_id(enum fleet_offence_kind kind)
{
    static const char *const ids[] = {"fleet_kind",   "fleet_verdict", "fleet_lacks",
                                      "fleet_figure", "fleet_drift",   "fleet_overall"};
    return ids[kind];
}

static bool is_skipped(const struct judge *judge, uint32_t machine)
{
    return judge->skip && judge->skip[machine];
}

static bool is_of_another_kind(const struct judge *judge, uint32_t machine)
{
    return !judge->any_kind && judge->fleet->machines[machine].kind != judge->kind;
}

bool judge_leaves_out(const struct judge *judge, uint32_t machine)
{
    return is_skipped(judge, machine) || is_of_another_kind(judge, machine);
}

int judge_add(struct judge *judge, const struct fleet_offence *offence)
{
    struct fleet_judgement *out = judge->out;
    struct fleet_offence *added = array_add(out->offences, out->noffences, out->offences_capacity);
    if (!added)
        return err_set(judge->err, -ENOMEM, "out of memory for %zu offences", out->noffences + 1);
    *added = *offence;
    return 0;
}

/* The figure of each bound in the fleet; they must be of one unit. */
static int find_metrics(struct judge *judge)
{
    const struct fleet *fleet = judge->fleet;
    for (size_t i = 0; i < judge->bounds->n; i++) {
        const struct bound *bound = &judge->bounds->all[i];
        char plain[FLEET_KEY_MAX];
        size_t length = fleet_key_plain(fleet->benches, bound->key, plain);
        uint32_t metric = intern_find(&fleet->keys, plain, length);
        judge->out->metric_of[i] = metric;
        if (metric == INTERN_NONE)
            continue;
        char said[FLEET_SAID_MAX];
        if (strcmp(fleet->metrics[metric].unit, bound->unit) != 0)
            return err_set(judge->err, -EINVAL, "%s: bounds in '%.31s', results in '%.31s'",
                           fleet_key_say(bound->key, said, sizeof(said)), bound->unit,
                           fleet->metrics[metric].unit);
        if (fleet->metrics[metric].higher != bound->higher)
            return err_set(judge->err, -EINVAL, "%s: better is '%s' in the results",
                           fleet_key_say(bound->key, said, sizeof(said)),
                           bound->higher ? "lower" : "higher");
    }
    return 0;
}

/* What a machine has of all bounds together. */
static void look_at_whole(struct judge *judge, uint32_t machine, double *scratch)
{
    struct judge_whole whole = {0};
    size_t n = 0;
    for (size_t i = 0; i < judge->bounds->n; i++) {
        const struct bound *bound = &judge->bounds->all[i];
        const struct fleet_cell *cell = fleet_judged_cell(judge->fleet, judge->out, i, machine);
        if (cell) {
            double log_ratio = log(fmax(cell->value / bound->reference, 1e-3));
            scratch[n++] = bound->higher ? -log_ratio : log_ratio;
        } else if (bound->required && !whole.nlacking++)
            whole.lacking = i;
    }
    whole.seen = n;
    whole.worse = n < OVERALL_FIGURES || judge_leaves_out(judge, machine)
                      ? (double)NAN
                      : stats_sort_median(scratch, n);
    judge->whole[machine] = whole;
}

static int look_at_wholes(struct judge *judge)
{
    double *scratch = calloc(judge->bounds->n + 1, sizeof(*scratch));
    judge->whole = calloc((size_t)judge->fleet->names.n + 1, sizeof(*judge->whole));
    bool good = scratch && judge->whole;
    for (uint32_t i = 0; good && i < judge->fleet->names.n; i++)
        look_at_whole(judge, i, scratch);
    free(scratch);
    return good ? 0 : err_set(judge->err, -ENOMEM, "out of memory for machines");
}

/* What is off without any figure: another kind, its own verdict, what it lacks. */
static int judge_machines(struct judge *judge)
{
    int rc = 0;
    for (uint32_t i = 0; i < judge->fleet->names.n && !rc; i++) {
        const struct fleet_machine *machine = &judge->fleet->machines[i];
        const struct judge_whole *whole = &judge->whole[i];
        struct fleet_offence offence = {.machine = i, .outcome = OUTCOME_FAIL};
        if (is_skipped(judge, i))
            continue;
        if (machine->verdict[0]) {
            bool open = machine->inconclusive; /* what is off comes before it */
            offence.kind = OFFENCE_VERDICT;
            offence.outcome = open ? OUTCOME_SKIP : OUTCOME_FAIL;
            offence.score = open ? 0 : VERDICT_SCORE;
            rc = judge_add(judge, &offence);
        }
        offence.outcome = OUTCOME_FAIL;
        if (is_of_another_kind(judge, i)) {
            offence.kind = OFFENCE_KIND;
            offence.score = KIND_SCORE;
        } else if (whole->nlacking) {
            offence.kind = OFFENCE_LACKS;
            offence.bound = whole->lacking;
            offence.count = whole->nlacking;
            offence.score = LACKS_SCORE + (double)whole->nlacking;
        } else
            continue;
        if (!rc)
            rc = judge_add(judge, &offence);
    }
    return rc;
}

/* How many times as far from the reference as its bound. */
static double score_of(double ratio, const struct bound *bound)
{
    double limit = ratio < 1 ? bound->lower : bound->upper;
    if (ratio <= 0 || limit <= 0)
        return DEAD_SCORE;
    double away = fabs(log(limit / bound->reference));
    return away > 0 ? fmin(DEAD_SCORE, fabs(log(ratio)) / away) : DEAD_SCORE;
}

static int judge_figure(struct judge *judge, size_t i, const struct fleet_cell *cell)
{
    const struct bound *bound = &judge->bounds->all[i];
    bool below = cell->value<bound->lower, above = cell->value> bound->upper;
    if ((!below && !above) || judge_leaves_out(judge, cell->machine))
        return 0;
    bool worse = bound->higher ? below : above;
    double ratio = cell->value / bound->reference;
    return judge_add(judge, &(struct fleet_offence){.machine = cell->machine,
                                                    .kind = OFFENCE_FIGURE,
                                                    .outcome = worse && !cell->noisy ? OUTCOME_FAIL
                                                                                     : OUTCOME_WARN,
                                                    .bound = i,
                                                    .value = cell->value,
                                                    .ratio = ratio,
                                                    .score = score_of(ratio, bound),
                                                    .noisy = cell->noisy});
}

static int judge_figures(struct judge *judge)
{
    int rc = 0;
    for (size_t i = 0; i < judge->bounds->n && !rc; i++) {
        uint32_t metric = judge->out->metric_of[i];
        if (metric == INTERN_NONE)
            continue;
        for (size_t c = judge->fleet->first[metric]; c < judge->fleet->first[metric + 1] && !rc;
             c++)
            rc = judge_figure(judge, i, &judge->fleet->cells[c]);
    }
    return rc;
}

static int judge_overall(struct judge *judge)
{
    size_t n = 0, nmachines = judge->fleet->names.n;
    double *distances = calloc(nmachines + 1, sizeof(*distances));
    if (!distances)
        return err_set(judge->err, -ENOMEM, "out of memory for machines");
    for (size_t i = 0; i < nmachines; i++)
        if (!isnan(judge->whole[i].worse))
            distances[n++] = fabs(judge->whole[i].worse);
    n = stats_sort(distances, n);
    double spread = n < OVERALL_MACHINES ? OVERALL_PRIOR
                                         : fmax(spread_of_distances(distances, n), SPREAD_LEAST);
    double limit = fmax(-log(1 - OVERALL_LEAST), OVERALL_SPREADS * spread);
    int rc = 0;
    for (uint32_t i = 0; i < nmachines && !rc; i++)
        if (judge->whole[i].worse > limit)
            rc = judge_add(judge, &(struct fleet_offence){.machine = i,
                                                          .kind = OFFENCE_OVERALL,
                                                          .outcome = OUTCOME_WARN,
                                                          .ratio = exp(-judge->whole[i].worse),
                                                          .score = judge->whole[i].worse / limit});
    free(distances);
    return rc;
}

static int compare_offences(const void *a, const void *b)
{
    const struct fleet_offence *one = a, *other = b;
    if (one->machine != other->machine)
        return one->machine < other->machine ? -1 : 1;
    if (one->outcome != other->outcome)
        return one->outcome == OUTCOME_FAIL ? -1 : 1;
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    return one->bound < other->bound ? -1 : one->bound > other->bound;
}

/* FAIL, WARN, SKIP, PASS */
static int rank_of(enum finding_outcome outcome)
{
    return outcome == OUTCOME_FAIL   ? 0
           : outcome == OUTCOME_WARN ? 1
           : outcome == OUTCOME_SKIP ? 2
                                     : 3;
}

static int compare_machines(const void *a, const void *b, void *fleet)
{
    const struct fleet_judged *one = a, *other = b;
    const struct intern *names = &((const struct fleet *)fleet)->names;
    if (one->outcome != other->outcome)
        return rank_of(one->outcome) - rank_of(other->outcome);
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    return strcmp(intern_text(names, one->machine), intern_text(names, other->machine));
}

/* By its offences, from `*at` on; without any it passes if anything of it was looked at. Figures
 * that are odd make no judgement of what its own rules could not judge. */
static struct fleet_judged judge_machine(const struct judge *judge, uint32_t i, bool seen,
                                         size_t *at)
{
    const struct fleet_judgement *out = judge->out;
    struct fleet_judged machine = {
        .machine = i, .outcome = seen ? OUTCOME_PASS : OUTCOME_SKIP, .first = *at};
    for (; *at < out->noffences && out->offences[*at].machine == i; ++*at)
        machine.noffences++;
    if (machine.noffences) {
        machine.outcome = out->offences[machine.first].outcome;
        if (machine.outcome == OUTCOME_WARN && judge->fleet->machines[i].inconclusive)
            machine.outcome = OUTCOME_SKIP;
        machine.score = out->offences[machine.first].score;
    }
    return machine;
}

static int rank(struct judge *judge)
{
    const struct fleet *fleet = judge->fleet;
    struct fleet_judgement *out = judge->out;
    size_t at = 0;
    if (out->noffences)
        qsort(out->offences, out->noffences, sizeof(*out->offences), compare_offences);
    for (uint32_t i = 0; i < fleet->names.n; i++) {
        /* Or its own rules have looked. */
        bool seen = judge->whole[i].seen || fleet->machines[i].validated;
        struct fleet_judged machine = judge_machine(judge, i, seen, &at);
        if (is_skipped(judge, i))
            continue;
        out->npass += machine.outcome == OUTCOME_PASS;
        out->nwarn += machine.outcome == OUTCOME_WARN;
        out->nfail += machine.outcome == OUTCOME_FAIL;
        out->nskip += machine.outcome == OUTCOME_SKIP;
        out->machines[out->nmachines++] = machine;
    }
    if (out->nmachines)
        qsort_r(out->machines, out->nmachines, sizeof(*out->machines), compare_machines,
                (void *)fleet);
    return 0;
}

int fleet_judge(const struct fleet *fleet, const struct bounds *bounds, const bool *skip,
                struct fleet_judgement *judgement, struct err *err)
{
    static int (*const looks[])(struct judge *) = {find_metrics,  look_at_wholes, judge_machines,
                                                   judge_figures, judge_drifts,   judge_overall,
                                                   rank};
    struct judge judge = {
        .fleet = fleet,
        .bounds = bounds,
        .skip = skip,
        .out = judgement,
        .err = err,
        .any_kind = !bounds->kind || !bounds->kind[0],
    };
    if (!judge.any_kind)
        judge.kind = intern_find(&fleet->kinds, bounds->kind, strlen(bounds->kind));
    *judgement = (struct fleet_judgement){
        .machines = calloc((size_t)fleet->names.n + 1, sizeof(*judgement->machines)),
        .metric_of = calloc(bounds->n + 1, sizeof(*judgement->metric_of))};
    int rc = judgement->machines && judgement->metric_of
                 ? 0
                 : err_set(err, -ENOMEM, "out of memory for %u machines", fleet->names.n);
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]) && !rc; i++)
        rc = looks[i](&judge);
    free(judge.whole);
    return rc;
}

const struct fleet_cell *fleet_judged_cell(const struct fleet *fleet,
                                           const struct fleet_judgement *judgement, size_t bound,
                                           uint32_t machine)
{
    uint32_t metric = judgement->metric_of[bound];
    return metric == INTERN_NONE ? NULL : fleet_find(fleet, metric, machine);
}

void fleet_judgement_free(struct fleet_judgement *judgement)
{
    free(judgement->offences);
    free(judgement->machines);
    free(judgement->metric_of);
    *judgement = (struct fleet_judgement){0};
}
