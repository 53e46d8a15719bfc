#include "harness/show/comparison.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"

static bool is_shown(const struct comparison *one, bool gating)
{
    return one->gating == gating && (gating || one->evidence.outcome != OUTCOME_MISSING);
}

static bool same_sides(const struct comparison *a, const struct comparison *b)
{
    return strcmp(a->base, b->base) == 0 && strcmp(a->other, b->other) == 0;
}

/* Large numbers by prefix, "93.0 k"; others as the tables of scans write them. */
static void add_median(struct doc_table *table, double value, const char *unit)
{
    if (isnan(value))
        doc_cell(table, "-");
    else if (*number_unit(unit) && fabs(value) >= 10000)
        doc_si(table, value);
    else
        doc_cell(table, "%s", number_format(value, unit, false));
}

static void add_one(struct doc_table *table, const struct comparison *one)
{
    const char *unit = number_unit(one->unit);
    enum doc_tone tone =
        one->evidence.outcome == OUTCOME_SLOWER || one->evidence.outcome == OUTCOME_MISSING
            ? DOC_BAD
        : one->evidence.outcome == OUTCOME_FASTER ? DOC_GOOD
                                                  : DOC_PLAIN;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", finding_outcome_name(one->evidence.outcome));
    doc_tone(table, tone);
    doc_cell(table, "%s%s%s", one->metric, *unit ? ", " : "", unit);
    add_median(table, one->evidence.base, one->unit);
    add_median(table, one->evidence.other, one->unit);
    doc_cell(table, "%s", comparison_format_change(one));
    doc_cell(table, "%s", comparison_format_interval(one));
    doc_cell(table, "%s", one->reason);
}

static struct doc_table *begin(const struct comparison *one, struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "verdict");
    doc_column(table, DOC_CODE, "metric");
    doc_columns(table, DOC_NUMBER, one->base, one->other, "change", "interval", NULL);
    doc_column(table, DOC_REASON, "why");
    return table;
}

/* Those of the same sides as `first`, the worst outcome first. */
static void add_sides(const struct comparisons *comparisons, const struct comparison *first,
                      struct doc *doc)
{
    static const enum finding_outcome order[] = {OUTCOME_SLOWER, OUTCOME_UNCLEAR, OUTCOME_MISSING,
                                                 OUTCOME_FASTER, OUTCOME_SAME,    OUTCOME_NONE};
    const char *arm = "";
    doc_gap(doc);
    struct doc_table *table = begin(first, doc);
    for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++)
        for (size_t i = 0; i < comparisons->n; i++) {
            const struct comparison *one = &comparisons->all[i];
            if (one->evidence.outcome != order[o] || !is_shown(one, first->gating) ||
                !same_sides(one, first))
                continue;
            if (strcmp(arm, one->arm) != 0) {
                doc_row(table, DOC_GROUP);
                doc_cell(table, "%s", one->arm);
                arm = one->arm;
            }
            add_one(table, one);
        }
}

static void add_tables(const struct comparisons *comparisons, bool gating, struct doc *doc)
{
    bool any = false;
    for (size_t i = 0; i < comparisons->n; i++) {
        const struct comparison *one = &comparisons->all[i];
        bool done = !is_shown(one, gating);
        for (size_t k = 0; k < i && !done; k++)
            done = is_shown(&comparisons->all[k], gating) && same_sides(&comparisons->all[k], one);
        if (done)
            continue;
        if (!gating && !any)
            doc_fold(doc, "Metrics that do not gate");
        any = true;
        add_sides(comparisons, one, doc);
    }
    if (any && !gating)
        doc_unfold(doc);
}

void comparisons_add_to_doc(const struct comparisons *comparisons, struct doc *doc)
{
    add_tables(comparisons, true, doc);
    add_tables(comparisons, false, doc);
}

void compared_add_to_doc(const struct comparisons *comparisons, const struct findings *findings,
                         struct doc *doc)
{
    doc_findings(doc, findings, DOC_LEADING);
    comparisons_add_to_doc(comparisons, doc);
    doc_findings(doc, findings, DOC_REST);
}

/* "80.2%" for a retention; "1.23 M items/s", a rate with its unit. */
static const char *format(const struct fingerprint_value *value, double of, bool with_unit)
{
    if (isnan(of))
        return "-";
    if (value->is_retention)
        return str_fmt("%.1f%%", 100 * of);
    if (of >= 1000)
        return str_fmt("%s%s%s", units_si(of), with_unit ? " " : "", with_unit ? value->unit : "");
    return str_fmt("%s%s%s", units_plain(of, 3), with_unit ? " " : "",
                   with_unit ? value->unit : "");
}

/* Adds the name of a part above its first value. */
static void add_group(struct doc_table *table, const struct fingerprint_value *value,
                      const char **part)
{
    if (!strcmp(value->part, *part))
        return;
    doc_row(table, DOC_GROUP);
    doc_cell(table, "%s", value->part);
    *part = value->part;
}

static void add_machine(const struct fingerprint *print, const char *label, struct doc *doc)
{
    const char *gpus = print->gpus ? str_fmt("%ux %s", print->gpus, print->gpu_model) : "no GPU";
    doc_text(doc, "%s%s: %u CPUs, %s; %s; %s", label, print->host, print->cpus, print->cpu_model,
             gpus, print->started);
}

static void list(const struct fingerprint_value *value, const char **text)
{
    str_add(text, ", ", "%s (%s)", value->part, value->name);
}

/* Adds a line for each reason, with the values that are absent for it. */
static void add_absent(const struct fingerprint *print, struct doc *doc)
{
    for (size_t i = 0; i < print->n; i++) {
        const char *text = "";
        const char *reason = print->value[i].reason;
        bool said = !isnan(print->value[i].value);
        for (size_t k = 0; k < i; k++)
            said =
                said || (isnan(print->value[k].value) && !strcmp(print->value[k].reason, reason));
        for (size_t k = i; k < print->n && !said; k++)
            if (isnan(print->value[k].value) && !strcmp(print->value[k].reason, reason))
                list(&print->value[k], &text);
        if (text[0])
            doc_text(doc, "absent (%s): %s", reason, text);
    }
}

static void add_value(struct doc_table *table, const struct fingerprint_value *value)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", value->name);
    doc_cell(table, "%s", format(value, value->value, true));
    if (isnan(value->low))
        doc_cell(table, "%s", "");
    else
        doc_cell(table, "%s-%s", format(value, value->low, false),
                 format(value, value->high, false));
    doc_cell(table, "%u", value->rounds);
}

void fingerprint_add_to_doc(const struct fingerprint *print, const char *path, struct doc *doc)
{
    size_t absent = fingerprint_absent(print);
    const char *part = "";
    doc_heading(doc, "fingerprint: %zu values, %zu absent; compare: contend compare %s OTHER",
                print->n - absent, absent, path);
    doc_gap(doc);
    add_machine(print, "", doc);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "value");
    doc_columns(table, DOC_NUMBER, "measured", "range", "rounds", NULL);
    for (size_t i = 0; i < print->n; i++) {
        const struct fingerprint_value *value = &print->value[i];
        if (isnan(value->value))
            continue;
        add_group(table, value, &part);
        add_value(table, value);
    }
    add_absent(print, doc);
    doc_text(doc, "percentages are retentions: throughput relative to that without the load");
}

/* Adds how many machines are of another class, and what differs at the first, the farthest. */
static void add_fleet_verdict(const struct fingerprint_machine *all, size_t n, struct doc *doc)
{
    size_t others = 0;
    while (others < n && !fingerprint_is_same(&all[others].distance))
        others++;
    doc_verdict(doc, others ? FINDING_BAD : FINDING_NOTE, NULL,
                "%zu of %zu machines differ%s from their median. %s: %s", others, n,
                others == 1 ? "s" : "", all[0].path,
                all[0].distance.shared ? fingerprint_format(&all[0].distance)
                                       : "shares no value with it");
}

/* The length of the folders that all paths have in common. */
static size_t common_folders(const struct fingerprint_machine *all, size_t n)
{
    size_t length = 0;
    for (size_t at = 0; all[0].path[at]; at++) {
        for (size_t i = 1; i < n; i++)
            if (all[i].path[at] != all[0].path[at])
                return length;
        length = all[0].path[at] == '/' && all[0].path[at + 1] ? at + 1 : length;
    }
    return length;
}

void fingerprint_fleet_add_to_doc(const struct fingerprint_machine *all, size_t n, struct doc *doc)
{
    const size_t prefix = common_folders(all, n);
    add_fleet_verdict(all, n, doc);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "machine");
    doc_columns(table, DOC_NUMBER, "distance", "values", NULL);
    doc_columns(table, DOC_LABEL, "farthest", "here", NULL);
    for (size_t i = 0; i < n; i++) {
        const struct fingerprint_distance *distance = &all[i].distance;
        const struct fingerprint_difference *one =
            distance->nparts ? &distance->difference[distance->part[0].farthest] : NULL;
        doc_row(table, fingerprint_is_same(distance) ? DOC_PLAIN : DOC_BAD);
        doc_cell(table, "%s", all[i].path + prefix);
        doc_cell(table, one ? "%.1f" : "-", distance->distance);
        doc_cell(table, "%zu", distance->shared);
        doc_cell(table, "%s", one ? one->a->part : "-");
        doc_cell(table, "%s", one ? fingerprint_format_ratio(one->ratio) : "-");
    }
    doc_text(doc,
             "distance: from the median machine, in units of what equal runs differ by; beyond "
             "1 another class. Every value: contend compare A B");
}

/* Adds the values that only one side has. */
static void add_lacking(const struct fingerprint_distance *distance, bool of_a, struct doc *doc)
{
    const char *text = "";
    for (size_t i = 0; i < distance->n; i++) {
        const struct fingerprint_difference *one = &distance->difference[i];
        const struct fingerprint_value *has = of_a ? one->a : one->b;
        if (has && isnan(one->units))
            list(has, &text);
    }
    if (text[0])
        doc_text(doc, "only %s has, so not counted: %s", of_a ? "A" : "B", text);
}

void fingerprints_add_to_doc(const struct fingerprint *a, const struct fingerprint *b,
                             const struct fingerprint_distance *distance, struct doc *doc)
{
    doc_verdict(doc, fingerprint_is_same(distance) ? FINDING_NOTE : FINDING_BAD, NULL, "%s",
                fingerprint_format(distance));
    doc_gap(doc);
    add_machine(a, "A: ", doc);
    add_machine(b, "B: ", doc);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "value");
    doc_columns(table, DOC_NUMBER, "A", "B", "B here", "units", NULL);
    const char *part = "";
    for (size_t i = 0; i < distance->n; i++) {
        const struct fingerprint_difference *one = &distance->difference[i];
        if (isnan(one->units))
            continue;
        add_group(table, one->a, &part);
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", one->a->name);
        doc_cell(table, "%s", format(one->a, one->a->value, true));
        doc_cell(table, "%s", format(one->b, one->b->value, true));
        doc_cell(table, "%s", fingerprint_format_ratio(one->ratio));
        doc_cell(table, "%.1f", one->units);
    }
    add_lacking(distance, true, doc);
    add_lacking(distance, false, doc);
    doc_text(doc, "units: the difference relative to that of equal runs; beyond 2 a part differs");
}
