#include "harness/validate/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/validate/bounds_make.h"
#include "harness/validate/rules/rules.h"

/* Limits of OFFENCE_OVERALL: at least this much worse, and this many spreads of the fleet. */
#define OVERALL_LEAST 0.05
#define OVERALL_SPREADS 5
#define OVERALL_PRIOR 0.03

/* Ranks: another kind, then a failed validation, then lacking figures, then any figure. */
enum {
    OVERALL_FIGURES = 20,
    OVERALL_MACHINES = 20,
    KIND_SCORE = 1000000,
    VERDICT_SCORE = 500000,
    LACKS_SCORE = 1000,
    DEAD_SCORE = 100
};

struct judge {
    const bool *skip; /* or NULL */
    struct fleet_judgement *out;
    struct err *err;
    bool any_kind; /* the bounds are for any kind */
    uint32_t kind;
    double *scratch; /* one per bound */
    bool *seen;      /* per machine: it has a figure with a bound */
    double *worse;   /* per machine: median log of how much worse its figures are; NaN = unknown */
};

static int add(struct judge *judge, const struct fleet_offence *offence)
{
    struct fleet_judgement *out = judge->out;
    struct fleet_offence *added = array_add(out->offences, out->noffences, out->offences_capacity);
    if (!added)
        return err_set(judge->err, -ENOMEM, "out of memory for %zu offences", out->noffences + 1);
    *added = *offence;
    return 0;
}

/* Finds the figure of each bound in the fleet. Units and directions must agree. */
static int find_metrics(struct judge *judge)
{
    const struct fleet *fleet = judge->out->fleet;
    for (size_t i = 0; i < judge->out->bounds->n; i++) {
        const struct bound *bound = &judge->out->bounds->all[i];
        char plain[FLEET_KEY_MAX];
        size_t length = fleet_key_plain(fleet->benches, bound->key, plain);
        uint32_t metric = intern_find(&fleet->keys, plain, length);
        judge->out->metric_of[i] = metric;
        if (metric == INTERN_NONE)
            continue;
        judge->out->nbounds++;
        if (strcmp(fleet->metrics[metric].unit, bound->unit) != 0)
            return err_set(judge->err, -EINVAL, "%s: bounds in '%.31s', results in '%.31s'",
                           fleet_key_format(bound->key), bound->unit, fleet->metrics[metric].unit);
        if (fleet->metrics[metric].higher != bound->higher)
            return err_set(judge->err, -EINVAL, "%s: better is '%s' in the results",
                           fleet_key_format(bound->key), bound->higher ? "lower" : "higher");
    }
    return 0;
}

/* The distance to the reference divided by that of the bound, at most DEAD_SCORE. */
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
    const struct bound *bound = &judge->out->bounds->all[i];
    bool below = cell->value<bound->lower, above = cell->value> bound->upper;
    bool worse = bound->higher ? below : above;
    double ratio = cell->value / bound->reference;
    if (!below && !above)
        return 0;
    return add(judge, &(struct fleet_offence){.machine = cell->machine,
                                              .kind = OFFENCE_FIGURE,
                                              .outcome = worse && !cell->noisy ? OUTCOME_FAIL
                                                                               : OUTCOME_WARN,
                                              .bound = i,
                                              .ratio = ratio,
                                              .score = score_of(ratio, bound)});
}

/* Judges each figure, figures that are missing, and the median over all figures. */
static int judge_figures(struct judge *judge, uint32_t machine)
{
    struct fleet_offence lacks = {
        .machine = machine, .kind = OFFENCE_LACKS, .outcome = OUTCOME_FAIL, .score = LACKS_SCORE};
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < judge->out->bounds->n && !rc; i++) {
        const struct bound *bound = &judge->out->bounds->all[i];
        const struct fleet_cell *cell = fleet_judged_cell(judge->out, i, machine);
        if (cell) {
            double log_ratio = log(fmax(cell->value / bound->reference, 1e-3));
            judge->scratch[n++] = bound->higher ? -log_ratio : log_ratio;
            rc = judge_figure(judge, i, cell);
        } else if (bound->required && !lacks.count++)
            lacks.bound = i;
    }
    lacks.score += (double)lacks.count;
    judge->seen[machine] = n;
    if (n >= OVERALL_FIGURES)
        judge->worse[machine] = stats_sort_median(judge->scratch, n);
    return rc || !lacks.count ? rc : add(judge, &lacks);
}

static int judge_machines(struct judge *judge)
{
    int rc = 0;
    for (uint32_t i = 0; i < judge->out->fleet->names.n && !rc; i++) {
        const struct fleet_machine *machine = &judge->out->fleet->machines[i];
        bool open = machine->inconclusive; /* other offences rank before a SKIP */
        const struct fleet_offence kind = {i, OFFENCE_KIND, OUTCOME_FAIL, .score = KIND_SCORE},
                                   verdict = {i, OFFENCE_VERDICT,
                                              open ? OUTCOME_SKIP : OUTCOME_FAIL,
                                              .score = open ? 0 : VERDICT_SCORE};
        judge->worse[i] = NAN;
        if (judge->skip && judge->skip[i])
            continue;
        rc = machine->verdict[0] ? add(judge, &verdict) : 0;
        if (!rc)
            rc = judge->any_kind || machine->kind == judge->kind ? judge_figures(judge, i)
                                                                 : add(judge, &kind);
    }
    return rc;
}

static int judge_overall(struct judge *judge)
{
    size_t n = 0, nmachines = judge->out->fleet->names.n;
    double *distances = calloc(nmachines + 1, sizeof(*distances));
    if (!distances)
        return err_set(judge->err, -ENOMEM, "out of memory for machines");
    for (size_t i = 0; i < nmachines; i++)
        distances[i] = fabs(judge->worse[i]);
    n = stats_sort(distances, nmachines);
    double spread = n < OVERALL_MACHINES ? OVERALL_PRIOR : spread_of_distances(distances, n);
    double limit = fmax(-log(1 - OVERALL_LEAST), OVERALL_SPREADS * spread);
    int rc = 0;
    for (uint32_t i = 0; i < nmachines && !rc; i++)
        if (judge->worse[i] > limit)
            rc = add(judge, &(struct fleet_offence){.machine = i,
                                                    .kind = OFFENCE_OVERALL,
                                                    .outcome = OUTCOME_WARN,
                                                    .ratio = exp(-judge->worse[i]),
                                                    .score = judge->worse[i] / limit});
    free(distances);
    return rc;
}

static int compare_offences(const void *a, const void *b)
{
    const struct fleet_offence *one = a, *other = b;
    if (one->machine != other->machine)
        return one->machine < other->machine ? -1 : 1;
    if (one->outcome != other->outcome)
        return rules_rank(one->outcome) - rules_rank(other->outcome);
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    return one->bound < other->bound ? -1 : one->bound > other->bound;
}

static int compare_machines(const void *a, const void *b, void *fleet)
{
    const struct fleet_judged *one = a, *other = b;
    const struct intern *names = &((const struct fleet *)fleet)->names;
    if (one->outcome != other->outcome)
        return rules_rank(one->outcome) - rules_rank(other->outcome);
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    return strcmp(intern_text(names, one->machine), intern_text(names, other->machine));
}

/* The outcome of a machine by its worst offence. Without any it passes if anything was compared, or
 * its own rules judged it. A warning does not replace the SKIP of its own rules. */
static enum finding_outcome outcome_of(const struct judge *judge, const struct fleet_judged *judged)
{
    const struct fleet_machine *machine = &judge->out->fleet->machines[judged->machine];
    if (!judged->noffences)
        return judge->seen[judged->machine] || machine->validated ? OUTCOME_PASS : OUTCOME_SKIP;
    enum finding_outcome worst = judge->out->offences[judged->first].outcome;
    return worst == OUTCOME_WARN && machine->inconclusive ? OUTCOME_SKIP : worst;
}

static int rank(struct judge *judge)
{
    const struct fleet *fleet = judge->out->fleet;
    struct fleet_judgement *out = judge->out;
    size_t at = 0;
    if (out->noffences)
        qsort(out->offences, out->noffences, sizeof(*out->offences), compare_offences);
    for (uint32_t i = 0; i < fleet->names.n; i++) {
        struct fleet_judged *machine = &out->machines[out->nmachines];
        if (judge->skip && judge->skip[i])
            continue;
        *machine = (struct fleet_judged){.machine = i, .first = at};
        for (; at < out->noffences && out->offences[at].machine == i; at++)
            machine->noffences++;
        machine->score = machine->noffences ? out->offences[machine->first].score : 0;
        machine->outcome = outcome_of(judge, machine);
        out->count[machine->outcome]++;
        out->nmachines++;
    }
    if (out->nmachines)
        qsort_r(out->machines, out->nmachines, sizeof(*out->machines), compare_machines,
                (void *)fleet);
    return 0;
}

int fleet_judge(const struct fleet *fleet, const struct bounds *bounds, const bool *skip,
                struct fleet_judgement *judgement, struct err *err)
{
    static int (*const looks[])(struct judge *) = {find_metrics, judge_machines, judge_overall,
                                                   rank};
    const size_t nmachines = (size_t)fleet->names.n + 1, nbounds = bounds->n + 1;
    struct judge judge = {.skip = skip,
                          .out = judgement,
                          .err = err,
                          .any_kind = !bounds->kind || !bounds->kind[0],
                          .scratch = calloc(nbounds, sizeof(*judge.scratch)),
                          .seen = calloc(nmachines, sizeof(*judge.seen)),
                          .worse = calloc(nmachines, sizeof(*judge.worse))};
    if (!judge.any_kind)
        judge.kind = intern_find(&fleet->kinds, bounds->kind, strlen(bounds->kind));
    *judgement =
        (struct fleet_judgement){.fleet = fleet,
                                 .bounds = bounds,
                                 .machines = calloc(nmachines, sizeof(*judgement->machines)),
                                 .metric_of = calloc(nbounds, sizeof(*judgement->metric_of))};
    bool good =
        judge.scratch && judge.seen && judge.worse && judgement->machines && judgement->metric_of;
    int rc = good ? 0 : err_set(err, -ENOMEM, "out of memory for %u machines", fleet->names.n);
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]) && !rc; i++)
        rc = looks[i](&judge);
    free(judge.scratch);
    free(judge.seen);
    free(judge.worse);
    return rc;
}

const struct fleet_cell *fleet_judged_cell(const struct fleet_judgement *judgement, size_t bound,
                                           uint32_t machine)
{
    uint32_t metric = judgement->metric_of[bound];
    return metric == INTERN_NONE ? NULL : fleet_find(judgement->fleet, metric, machine);
}

void fleet_judgement_free(struct fleet_judgement *judgement)
{
    free(judgement->offences);
    free(judgement->machines);
    free(judgement->metric_of);
    *judgement = (struct fleet_judgement){0};
}
