#include "harness/verdict/odd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

/* Limits per kind, so that a machine with many anomalies still fits a screen. */
enum { ODD_MAX = 8, UNDECIDED_MAX = 3 };

struct teller {
    const struct symmetry *symmetry;
    const struct topo *topo;
    struct findings *findings;
};

/* "GPU 2 (0000:00:08.0)", "GPU 0 to GPU 3", "from GPU 2 (...)", "rank 5". */
static const char *name_unit(const struct teller *teller, const struct symmetry_unit *unit)
{
    static const char *const before[SYMMETRY_KINDS] = {"GPU", "rank", "GPU", "from GPU", "to GPU"};
    const char *bdf = unit->kind == SYMMETRY_PAIR ? NULL : symmetry_unit_bdf(teller->topo, unit);
    const char *buf = str_fmt("%s %d", before[unit->kind], unit->id);
    if (bdf)
        str_add(&buf, " ", "(%s)", bdf);
    if (unit->kind == SYMMETRY_PAIR)
        str_add(&buf, " ", "to GPU %d", unit->other);
    else if (unit->kind == SYMMETRY_GPU && unit->other >= 0)
        str_add(&buf, " ", "with node %d", unit->other);
    return buf;
}

/* "copy_bandwidth h2d pinned ce alone near": names only where the value is a number. */
static const char *name_comparison(const struct symmetry_comparison *c)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    const char *text = c->row->metric;
    for (unsigned part = 0; part < c->dims.n; part++) {
        dims_part(c->row->arm->bench, &c->dims, part, name, value);
        bool number = value[0] >= '0' && value[0] <= '9';
        if (strcmp(name, "distance") == 0 && atoi(value) == SYMMETRY_NEAR)
            str_add(&text, " ", "near");
        else
            str_add(&text, " ", "%s%s%s", number ? name : "", number ? " " : "", value);
    }
    return text;
}

/* Three digits and the unit. */
static const char *format_amount(double value, const struct row *row)
{
    if (strcmp(row->unit, "s") == 0)
        return units_seconds(value);
    return str_fmt("%.*f %s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, row->unit);
}

static bool is_same_unit(const struct symmetry_unit *a, const struct symmetry_unit *b)
{
    return a->kind == b->kind && a->id == b->id &&
           (a->kind != SYMMETRY_PAIR || a->other == b->other);
}

/* How much longer the others are in an operation than the rank that they wait for. */
static double lateness(const struct symmetry_comparison *c, const struct symmetry_unit *unit)
{
    return c->typical - unit->value.value;
}

static bool is_worse(const struct symmetry_comparison *c, const struct symmetry_unit *unit,
                     const struct symmetry_comparison *than, const struct symmetry_unit *other)
{
    if (c->sense == OUTLIER_WAITED && than->sense == OUTLIER_WAITED)
        return lateness(c, unit) > lateness(than, other);
    return unit->ratio < other->ratio;
}

/* The number of comparisons in which the unit is odd, and the worst of them. */
static size_t find_worst(const struct symmetry *symmetry, const struct symmetry_unit *unit,
                         const struct symmetry_comparison **where,
                         const struct symmetry_unit **worst)
{
    size_t n = 0;
    *worst = NULL;
    for (size_t i = 0; i < symmetry->n; i++) {
        const struct symmetry_comparison *c = &symmetry->all[i];
        bool here = false;
        for (size_t j = 0; j < c->nodd; j++) {
            if (!is_same_unit(&c->odd[j], unit))
                continue;
            here = true;
            if (!*worst || is_worse(c, &c->odd[j], *where, *worst)) {
                *worst = &c->odd[j];
                *where = c;
            }
        }
        n += here;
    }
    return n;
}

/* Reports the unit once, by its worst comparison. */
static void report_odd(const struct teller *teller, const struct symmetry_unit *unit)
{
    const struct symmetry_comparison *where = NULL;
    const struct symmetry_unit *worst;
    struct finding finding = {.id = "unit_odd", .severity = FINDING_BAD};
    size_t n = find_worst(teller->symmetry, unit, &where, &worst);
    text_set(finding.subject, "%s", name_unit(teller, worst));
    const char *what = name_comparison(where);
    /* "ratio 0.248, z -51.2, 4 units": the number of units in the comparison */
    text_set(finding.evidence, "ratio %.3g", worst->ratio);
    if (isfinite(worst->z))
        text_add(finding.evidence, ", z %.3g", worst->z);
    text_add(finding.evidence, ", %zu %s", where->n,
             where->kind == SYMMETRY_PAIR ? "pairs" : "units");
    if (where->sense == OUTLIER_WAITED)
        text_set(finding.sentence, "%s: the other%s %s for it", what,
                 where->n == 2 ? " waits" : "s wait",
                 format_amount(lateness(where, worst), where->row));
    else
        text_set(finding.sentence, "%s: %s is %.2f of its peers' %s", what,
                 format_amount(worst->value.value, where->row),
                 strcmp(where->row->better, "higher") == 0 ? worst->ratio : 1 / worst->ratio,
                 format_amount(where->typical, where->row));
    if (n > 1)
        text_add(finding.sentence, "; odd in %zu other comparison%s too", n - 1, n == 2 ? "" : "s");
    findings_put(teller->findings, &finding);
}

/* Reports each unit where it first occurs. */
static void report_odds(const struct teller *teller)
{
    const struct symmetry *symmetry = teller->symmetry;
    size_t n = 0;
    for (size_t i = 0; i < symmetry->n; i++)
        for (size_t j = 0; j < symmetry->all[i].nodd; j++) {
            const struct symmetry_unit *unit = &symmetry->all[i].odd[j];
            bool met = false;
            for (size_t k = 0; k <= i && !met; k++)
                for (size_t l = 0; l < (k < i ? symmetry->all[k].nodd : j) && !met; l++)
                    met = is_same_unit(&symmetry->all[k].odd[l], unit);
            if (!met && n++ < ODD_MAX)
                report_odd(teller, unit);
        }
    if (n > ODD_MAX)
        findings_putf(teller->findings,
                      &(struct finding){
                          .id = "more_units_odd", .severity = FINDING_BAD, .subject = "symmetry"},
                      "%zu more are odd; see run.json", n - ODD_MAX);
}

static const char *plural_of(enum symmetry_kind kind)
{
    static const char *const plurals[SYMMETRY_KINDS] = {"GPUs", "ranks", "pairs of GPUs",
                                                        "sending GPUs", "receiving GPUs"};
    return plurals[kind];
}

/* "GPU 2 (0000:00:08.0) has 14 GB/s" with `between` in place of " has ". */
static const char *name_amount(const struct teller *teller, const struct symmetry_comparison *c,
                               const struct symmetry_unit *unit, const char *between)
{
    return str_fmt("%s%s%s", name_unit(teller, unit), between,
                   format_amount(unit->value.value, c->row));
}

/* A comparison without an odd unit. Only a note if its worst GPU was at its power limit. */
static void report_one(const struct teller *teller, const struct symmetry_comparison *c)
{
    const char *plural = plural_of(c->least.kind);
    bool two = c->verdict == OUTLIER_TWO, higher = strcmp(c->row->better, "higher") == 0;
    bool first = two && (c->units[0].value.value < c->units[1].value.value) == higher;
    struct finding finding = {.severity = c->power_limited ? FINDING_NOTE : FINDING_DOUBT,
                              .subject = "symmetry"};
    text_set(finding.id, "%s", two ? "units_differ" : c->nlow ? "units_split" : "units_apart");
    const char *what = name_comparison(c);
    text_set(finding.sentence, "%s%s: ", c->power_limited ? "power-limited: " : "", what);
    if (two)
        text_add(finding.sentence, "%s, %s; with two, either may be the odd one",
                 name_amount(teller, c, &c->units[!first], " has "),
                 name_amount(teller, c, &c->units[first], " has "));
    else if (c->nlow && c->sense == OUTLIER_WAITED)
        text_add(finding.sentence,
                 "the others wait %s for %zu of %zu %s: groups rather than outliers",
                 format_amount(lateness(c, &c->least), c->row), c->nlow, c->njudged, plural);
    else if (c->nlow)
        text_add(finding.sentence,
                 "%zu of %zu %s do not reach the others' %s: groups rather than outliers", c->nlow,
                 c->njudged, plural, format_amount(c->typical, c->row));
    else { /* far apart, but no unit is worse than the others */
        text_set(finding.evidence, "%zu units", c->njudged);
        text_add(finding.sentence, "%s, and %s: they differ, but none is an outlier",
                 name_amount(teller, c, &c->least, " has the least, "),
                 name_amount(teller, c, &c->most, " the most, "));
    }
    findings_put(teller->findings, &finding);
}

/* Ranks that differ without being late are not reported: an early rank is no fault. */
static bool is_reported(const struct symmetry_comparison *c)
{
    bool apart = c->verdict == OUTLIER_SPLIT && !c->nlow;
    return c->verdict != OUTLIER_NONE && !(apart && c->kind == SYMMETRY_RANK);
}

static void report_undecided(const struct teller *teller)
{
    size_t n = 0;
    for (size_t i = 0; i < teller->symmetry->n; i++) {
        const struct symmetry_comparison *c = &teller->symmetry->all[i];
        if ((c->verdict != OUTLIER_TWO && c->verdict != OUTLIER_SPLIT) || !is_reported(c))
            continue;
        if (n++ < UNDECIDED_MAX)
            report_one(teller, c);
    }
    if (n > UNDECIDED_MAX)
        findings_putf(teller->findings,
                      &(struct finding){.id = "more_units_undecided",
                                        .severity = FINDING_DOUBT,
                                        .subject = "symmetry"},
                      "%zu more comparisons without a verdict; see run.json", n - UNDECIDED_MAX);
}

/* The number of GPUs in a comparison: a GPU with several nodes at one distance counts once. */
static size_t count_units(const struct symmetry_comparison *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        bool met = false;
        for (size_t j = 0; j < i && !met && c->kind != SYMMETRY_PAIR; j++)
            met = c->units[j].id == c->units[i].id;
        n += !met;
    }
    return n;
}

/* "4 GPUs within 1.2% of each other in 12 comparisons"; "alike" if the differences do not
 * matter. */
static void report_alike(const struct teller *teller, enum symmetry_kind kind)
{
    const struct symmetry_comparison *widest = NULL;
    size_t n = 0, units = 0;
    struct finding finding = {.id = "units_alike", .subject = "symmetry"};
    for (size_t i = 0; i < teller->symmetry->n; i++) {
        const struct symmetry_comparison *c = &teller->symmetry->all[i];
        if (c->kind != kind || c->verdict != OUTLIER_ALIKE)
            continue;
        n++;
        units = count_units(c) > units ? count_units(c) : units;
        if (!widest || c->spread > widest->spread)
            widest = c;
    }
    if (!n)
        return;
    text_set(finding.sentence, "%zu %s ", units, plural_of(kind));
    /* Waits that differ by less than `least` have no meaningful percentage. */
    if (widest->spread > 0)
        text_add(finding.sentence, "within %.1f%% of each other", 100 * widest->spread);
    else
        text_add(finding.sentence, "alike");
    text_add(finding.sentence, " in %zu comparison%s", n, n == 1 ? "" : "s");
    if (n > 1 && widest->spread > 0.05)
        text_add(finding.sentence, ", the widest: %s", name_comparison(widest));
    findings_put(teller->findings, &finding);
}

void symmetry_findings(const struct symmetry *symmetry, const struct topo *topo,
                       struct findings *findings)
{
    const struct teller teller = {symmetry, topo, findings};
    report_odds(&teller);
    report_undecided(&teller);
    report_alike(&teller, SYMMETRY_GPU);
    report_alike(&teller, SYMMETRY_PAIR);
    report_alike(&teller, SYMMETRY_RANK);
}
