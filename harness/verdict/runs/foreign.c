#include "harness/verdict/runs/foreign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/verdict/runs/compare.h"

static const char *const side_names[FOREIGN_SIDES] = {"base", "new"};

/* Equal values of both sides. */
struct group {
    const struct foreign_value *values;
    size_t n;
    struct evidence_runs runs;      /* a value for each run that has one */
    const char *why[FOREIGN_SIDES]; /* a run without a value: its reason; NULL = there is none */
};

static int compare_keys(const struct foreign_value *a, const struct foreign_value *b)
{
    int order = strcmp(a->node, b->node);
    order = order ? order : strcmp(a->arm, b->arm);
    order = order ? order : strcmp(a->metric, b->metric);
    return order ? order : strcmp(a->unit, b->unit);
}

static int by_key(const void *one, const void *other)
{
    const struct foreign_value *a = one, *b = other;
    int order = compare_keys(a, b);
    order = order ? order : a->side - b->side;
    order = order ? order : (a->run > b->run) - (a->run < b->run);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int by_order(const void *one, const void *other)
{
    const struct group *a = one, *b = other;
    return (a->values->order > b->values->order) - (a->values->order < b->values->order);
}

/* Adds the mean of a run's repeated values as one. Returns how many values the run has. */
static size_t add_run(struct group *group, const struct foreign_value *first, size_t most)
{
    struct moments repeats = {0};
    size_t n = 0;
    for (; n < most && first[n].side == first->side && first[n].run == first->run; n++)
        if (first[n].value > 0 && isfinite(first[n].value))
            moments_add(&repeats, log(first[n].value));
        else if (!group->why[first->side] || !group->why[first->side][0])
            group->why[first->side] = first[n].reason;
    if (repeats.n)
        moments_add(&group->runs.sides[first->side],
                    strcmp(first->better, "lower") ? repeats.mean : -repeats.mean);
    return n;
}

/* The group of the first of these values, which are sorted. */
static struct group group_of(const struct foreign_value *values, size_t most)
{
    struct group group = {.values = values};
    while (group.n < most && !compare_keys(values, &values[group.n]))
        group.n++;
    for (size_t i = 0; i < group.n;)
        i += add_run(&group, &values[i], group.n - i);
    return group;
}

static bool has_both(const struct group *group)
{
    return group->runs.sides[0].n && group->runs.sides[1].n;
}

/* No side has a value, and none says why: a rate that is too small for its digits. */
static bool is_empty(const struct group *group)
{
    bool said = (group->why[0] && group->why[0][0]) || (group->why[1] && group->why[1][0]);
    return !group->runs.sides[0].n && !group->runs.sides[1].n && !said;
}

static bool has_interval(const struct group *group)
{
    return group->runs.sides[0].n > 1 && group->runs.sides[1].n > 1;
}

static void explain(const struct evidence *evidence, double threshold,
                    struct comparison *comparison)
{
    const char *runs = str_fmt("%u and %u runs", comparison->base_runs, comparison->other_runs);
    const double ratio = comparison->evidence.ratio;
    const bool beyond = fabs(log(ratio)) > evidence->reach;
    if (evidence->outcome == OUTCOME_SAME)
        text_set(comparison->reason, "less than %.2g%%, by the 90%% interval (%s).",
                 100 * threshold, runs);
    else
        text_set(comparison->reason, "%s is %s the range of equal runs (%s; %s).",
                 comparison_format_ratio(ratio), beyond ? "beyond" : "within",
                 comparison_format_spread(copysign(evidence->reach, ratio - 1)), runs);
    if (evidence->outcome == OUTCOME_UNCLEAR && beyond)
        text_add(comparison->reason, " Below %.2g%% it does not count.", 100 * threshold);
    if (evidence->more > 0)
        text_add(comparison->reason, " %.0f runs a side would show it.", evidence->more);
}

static void decide(const struct group *group, double threshold, struct comparison *comparison)
{
    const bool less = !strcmp(comparison->better, "lower");
    comparison->evidence.outcome = OUTCOME_UNCLEAR;
    if (!has_interval(group)) {
        text_set(comparison->reason, "%s, but a single value has no interval.",
                 comparison_format_ratio(comparison->evidence.ratio));
        return;
    }
    const struct evidence evidence = evidence_of_runs(&group->runs);
    explain(&evidence, threshold, comparison);
    comparison->evidence.outcome = evidence.outcome;
    comparison->evidence.level = evidence.level;
    comparison->evidence.low = less ? 1 / evidence.high : evidence.low;
    comparison->evidence.high = less ? 1 / evidence.low : evidence.high;
}

/* A run without a value may not be left out: of the outcomes of the others, only SLOWER stays. */
static void count_ended(const struct group *group, struct comparison *comparison)
{
    for (int side = 0; side < FOREIGN_SIDES; side++) {
        const char *why = group->why[side];
        const bool lacks = !group->runs.sides[side].n;
        if ((!why && !lacks) || comparison->evidence.outcome == OUTCOME_SLOWER)
            continue;
        comparison->evidence.outcome = OUTCOME_MISSING;
        if (why)
            text_set(comparison->reason, "%.200s in %s", why[0] ? why : "no value above 0",
                     side_names[side]);
        else if (!comparison->reason[0])
            text_set(comparison->reason, "only in %s", side_names[!side]);
    }
}

/* As measured: the values of `better` "lower" are negative logarithms. */
static double mean_of(const struct group *group, int side, bool less)
{
    const struct moments *logs = &group->runs.sides[side];
    return logs->n ? exp(less ? -logs->mean : logs->mean) : (double)NAN;
}

static int add(const struct group *group, bool by_node, double threshold,
               struct comparisons *comparisons, struct err *err)
{
    const struct foreign_value *first = group->values;
    const bool less = !strcmp(first->better, "lower");
    struct comparison comparison =
        comparison_of(side_names[0], side_names[1], first->metric, first->unit, first->better);
    comparison.evidence.base = mean_of(group, 0, less);
    comparison.evidence.other = mean_of(group, 1, less);
    comparison.evidence.ratio = comparison.evidence.other / comparison.evidence.base;
    comparison.base_runs = (unsigned)group->runs.sides[0].n;
    comparison.other_runs = (unsigned)group->runs.sides[1].n;
    comparison.gating = first->gating && first->better[0] && !is_empty(group);
    text_set(comparison.arm, "%s%s%s", by_node ? first->node : "", by_node ? ", " : "", first->arm);
    if (comparison.gating && has_both(group))
        decide(group, threshold, &comparison);
    if (comparison.gating || !has_both(group))
        count_ended(group, &comparison);
    return comparisons_add(comparisons, &comparison, err);
}

int foreign_compare(struct foreign *foreign, double threshold, struct comparisons *comparisons,
                    struct err *err)
{
    struct group *groups = calloc(foreign->n + 1, sizeof(*groups));
    double judged = 0;
    size_t n = 0;
    int rc = groups ? 0 : err_set(err, -ENOMEM, "no memory for %zu values", foreign->n);
    for (size_t i = 0; i < foreign->n && !foreign->by_node; i++)
        foreign->all[i].node = "";
    if (foreign->n)
        qsort(foreign->all, foreign->n, sizeof(*foreign->all), by_key);
    for (size_t i = 0; i < foreign->n && !rc; i += groups[n++].n) {
        groups[n] = group_of(&foreign->all[i], foreign->n - i);
        judged +=
            groups[n].values->gating && groups[n].values->better[0] && has_interval(&groups[n]);
    }
    if (n)
        qsort(groups, n, sizeof(*groups), by_order);
    for (size_t i = 0; i < n && !rc; i++) {
        groups[i].runs.tail = COMPARE_ERROR / fmax(judged, 1) / 2;
        groups[i].runs.within = log1p(threshold);
        rc = add(&groups[i], foreign->by_node, threshold, comparisons, err);
    }
    free(groups);
    return rc;
}

void foreign_advise(const struct foreign *foreign, const struct comparisons *comparisons,
                    struct findings *findings)
{
    const char *const *node = foreign->node;
    const struct finding nodes = {.id = "nodes_differ", .severity = FINDING_DOUBT},
                         single = {.id = "single_values", .severity = FINDING_NOTE},
                         unsaid = {.id = "foreign_results", .severity = FINDING_NOTE};
    if (!foreign->by_node && node[0] && node[1] && strcmp(node[0], node[1]) != 0)
        findings_putf(findings, &nodes, "Two machines: base is of %.80s, new of %.80s.", node[0],
                      node[1]);
    if (!comparisons_decided(comparisons) && comparisons_count(comparisons, OUTCOME_UNCLEAR))
        findings_putf(findings, &single,
                      "A single value has no interval, and few runs have a wide one. For a verdict "
                      "give each side five runs, taken in turns: 'contend compare BASE... -- "
                      "NEW...'.");
    findings_putf(findings, &unsaid,
                  "Results of %s do not say whether machine, driver and options are the same: that "
                  "was not checked.",
                  foreign->tool);
}

void foreign_free(struct foreign *foreign)
{
    free(foreign->all);
    *foreign = (struct foreign){0};
}
