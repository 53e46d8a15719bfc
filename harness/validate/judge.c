#include "harness/validate/judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/validate/rules/rules.h"

static const struct fleet_cell *fleet_judged_cell(const struct fleet_judgement *judgement,
                                                  size_t bound, uint32_t machine);

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

/* The machine's value of a bound's figure; NULL: the machine lacks the figure. */
static const struct fleet_cell *fleet_judged_cell(const struct fleet_judgement *judgement,
                                                  size_t bound, uint32_t machine)
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

/* Offences as sentences. */

enum { PART_MAX = 64 };

/* Parts of keys that name one of several equal units. */
static const char *const unit_names[] = {"gpu=", "rank=", "src=", "dst=", "from=", "to=", "node="};

static bool has_part(const char *key, const char *part)
{
    return text_has_words(fleet_key_column(key, FLEET_PARAMS), ';', part);
}

/* True if the machine has no figure with that part. */
static bool lacks_part(const struct fleet_judgement *judgement, uint32_t machine, const char *part)
{
    for (size_t i = 0; i < judgement->bounds->n; i++)
        if (has_part(judgement->bounds->all[i].key, part) &&
            fleet_judged_cell(judgement, i, machine))
            return false;
    return true;
}

/* "gpu=7" if the machine lacks all figures with that part of the first missing one; or "". */
static void find_part(const struct fleet_judgement *judgement, const struct fleet_offence *offence,
                      char part[static PART_MAX])
{
    const char *key = judgement->bounds->all[offence->bound].key;
    for (size_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++) {
        const char *at = strstr(key, unit_names[i]);
        if (!at)
            continue;
        (void)snprintf(part, PART_MAX, "%.*s", (int)strcspn(at, ";\037"), at);
        if (has_part(key, part) && lacks_part(judgement, offence->machine, part))
            return;
    }
    part[0] = '\0';
}

static const char *put_lacking(const struct fleet_judgement *judgement,
                               const struct fleet_offence *offence, const char *figure)
{
    char part[PART_MAX];
    const char *key = judgement->bounds->all[offence->bound].key;
    const char *reason = fleet_missing_reason_of(judgement->fleet, offence->machine, key);
    find_part(judgement, offence, part);
    return str_fmt("lacks %s%s%s%s", *part ? part : figure, *reason ? " (" : "", reason,
                   *reason ? ")" : "");
}

/* "55.1 GB/s; 101 is usual, 90 to 110 passes", and the first run's value if there are many runs. */
static const char *put_evidence(const struct fleet *fleet, const struct bound *bound,
                                const struct fleet_cell *cell)
{
    char first[64] = "";
    const char *low = !isnan(bound->lower) ? str_fmt("%s to ", units_plain(bound->lower, 4)) : "";
    const char *high = !isnan(bound->upper) ? units_plain(bound->upper, 4) : "";
    if (cell->nvalues > FLEET_NEWEST)
        text_set(first, "; %s in the first of %u runs",
                 units_plain((double)fleet->values[cell->first].value, 4), cell->nvalues);
    return str_fmt("%s %s; %s is usual, %s%s passes%s", units_plain(cell->value, 4), bound->unit,
                   units_plain(bound->reference, 4), *low ? low : "up to ", *high ? high : "any",
                   first);
}

static void fill_figure(const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, struct finding *finding)
{
    const struct bound *bound = &judgement->bounds->all[offence->bound];
    const struct fleet_cell *cell = fleet_judged_cell(judgement, offence->bound, offence->machine);
    text_set(finding->metric, "%s", fleet_key_column(bound->key, FLEET_METRIC));
    text_set(finding->unit, "%s", bound->unit);
    finding->value = cell->value;
    finding->low = bound->lower;
    finding->high = bound->upper;
    text_set(finding->evidence, "%s", put_evidence(judgement->fleet, bound, cell));
    if (cell->noisy) {
        text_append(finding->sentence, sizeof(finding->sentence), "", " (disturbed)");
        text_set(finding->cause, "setup");
    }
}

static void fill_number(struct finding *finding, const char *metric, const char *unit, double value)
{
    text_set(finding->metric, "%s", metric);
    text_set(finding->unit, "%s", unit);
    finding->value = value;
}

/* "-41%", "+12%", "1.9x". */
static const char *put_ratio(double ratio)
{
    if (ratio >= 2)
        return str_fmt("%sx", units_plain(ratio, 3));
    return str_fmt("%+.*f%%", fabs(ratio - 1) < 0.0995 ? 1 : 0, 100 * (ratio - 1));
}

static struct finding begin(const struct fleet_judgement *judgement, uint32_t machine,
                            enum finding_outcome outcome, const char *id)
{
    struct finding finding = {.severity = outcome == OUTCOME_FAIL ? FINDING_BAD : FINDING_DOUBT,
                              .outcome = outcome,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    text_set(finding.id, "%s", id);
    text_set(finding.subject, "%s", intern_text(&judgement->fleet->names, machine));
    return finding;
}

const char *fleet_finding(const struct fleet_judgement *judgement,
                          const struct fleet_offence *offence, struct finding *finding)
{
    static const char *const ids[] = {"fleet_kind", "fleet_verdict", "fleet_lacks", "fleet_figure",
                                      "fleet_overall"};
    const struct fleet_machine *machine = &judgement->fleet->machines[offence->machine];
    const char *figure = "";
    *finding = begin(judgement, offence->machine, offence->outcome, ids[offence->kind]);
    char *what = finding->sentence;
    const size_t size = sizeof(finding->sentence) / 2;
    const char *much = put_ratio(offence->ratio);
    if (offence->kind == OFFENCE_LACKS || offence->kind == OFFENCE_FIGURE)
        figure = fleet_key_format(judgement->bounds->all[offence->bound].key);
    switch (offence->kind) {
    case OFFENCE_KIND:
        (void)snprintf(what, size, "another kind: %s",
                       intern_text(&judgement->fleet->kinds, machine->kind));
        text_set(finding->cause, "hardware");
        much = "";
        break;
    case OFFENCE_VERDICT:
        (void)snprintf(what, size, "its own rules: %s", machine->verdict);
        much = "";
        break;
    case OFFENCE_LACKS:
        (void)snprintf(what, size, "%s", put_lacking(judgement, offence, figure));
        fill_number(finding, "missing", "figures", (double)offence->count);
        much = str_fmt("%zu figure%s", offence->count, offence->count == 1 ? "" : "s");
        break;
    case OFFENCE_FIGURE:
        (void)snprintf(what, size, "%s", figure);
        fill_figure(judgement, offence, finding);
        break;
    case OFFENCE_OVERALL:
        (void)snprintf(what, size, "all figures together are worse");
        fill_number(finding, "overall", "ratio", offence->ratio);
        break;
    }
    if (much[0])
        text_append(what, sizeof(finding->sentence), ": ", "%s", much);
    return what + strlen(what) - strlen(much);
}

/* Adds the finding of a machine without an offence. */
static void add_good(const struct fleet_judgement *judgement, const struct fleet_judged *machine,
                     struct findings *findings)
{
    struct finding finding = begin(judgement, machine->machine, machine->outcome, "fleet_machine");
    finding.severity = FINDING_NOTE;
    if (machine->outcome == OUTCOME_SKIP)
        findings_putf(findings, &finding, FLEET_NOT_JUDGED);
    else
        findings_putf(findings, &finding, "nothing is odd: %zu figures at most were compared",
                      judgement->bounds->n);
}

void fleet_findings(const struct fleet_judgement *judgement, struct findings *findings)
{
    for (size_t i = 0; i < judgement->nmachines; i++) {
        const struct fleet_judged *machine = &judgement->machines[i];
        struct finding one;
        if (!machine->noffences)
            add_good(judgement, machine, findings);
        for (size_t k = 0; k < machine->noffences; k++) {
            (void)fleet_finding(judgement, &judgement->offences[machine->first + k], &one);
            findings_put(findings, &one);
        }
    }
}
