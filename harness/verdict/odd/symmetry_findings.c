#include "harness/verdict/odd/symmetry_findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

/* Findings of one kind, so that a machine of many oddities still fits a screen. */
enum { ODD_MAX = 8, UNDECIDED_MAX = 3 };

struct teller {
    const struct symmetry *symmetry;
    const struct topo *topo;
    struct findings *findings;
    int rc;
    struct err *err;
};

/* "GPU 2 (0000:00:08.0)", "GPU 0 to GPU 3", "from GPU 2 (...)", "rank 5". */
static char *name_unit(const struct teller *teller, const struct symmetry_unit *unit, char *buf,
                       size_t size)
{
    static const char *const before[SYMMETRY_KINDS] = {"GPU", "rank", "GPU", "from GPU", "to GPU"};
    const char *bdf = unit->kind == SYMMETRY_PAIR ? NULL : symmetry_unit_bdf(teller->topo, unit);
    size_t used = (size_t)snprintf(buf, size, "%s %d", before[unit->kind], unit->id);
    if (bdf && used < size)
        used += (size_t)snprintf(buf + used, size - used, " (%s)", bdf);
    if (unit->kind == SYMMETRY_PAIR && used < size)
        (void)snprintf(buf + used, size - used, " to GPU %d", unit->other);
    else if (unit->kind == SYMMETRY_GPU && unit->other >= 0 && used < size)
        (void)snprintf(buf + used, size - used, " with node %d", unit->other);
    return buf;
}

/* "copy_bandwidth h2d pinned ce alone near": names only where the value is a number. */
static char *name_comparison(const struct symmetry_comparison *c, char *buf, size_t size)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    (void)snprintf(buf, size, "%s", c->row->metric);
    for (unsigned part = 0; part < c->dims.n; part++) {
        dims_part(c->row->arm->bench, &c->dims, part, name, value);
        bool number = value[0] >= '0' && value[0] <= '9';
        if (strcmp(name, "distance") == 0 && atoi(value) == SYMMETRY_NEAR)
            text_append(buf, size, " ", "near");
        else
            text_append(buf, size, " ", "%s%s%s", number ? name : "", number ? " " : "", value);
    }
    return buf;
}

/* Three digits and the unit. */
static char *format_amount(double value, const struct row *row, char *buf, size_t size)
{
    if (strcmp(row->unit, "s") == 0)
        return units_format_seconds(value, buf, size);
    (void)snprintf(buf, size, "%.*f %s",
                   value >= 99.95   ? 0
                   : value >= 9.995 ? 1
                                    : 2,
                   value, row->unit);
    return buf;
}

static struct finding begin(const char *id, enum finding_severity severity)
{
    struct finding finding = {.severity = severity, .subject = "symmetry"};
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    return finding;
}

/* Of a comparison without a verdict: where its worst GPU was at its power limit, that is no doubt.
 */
static struct finding begin_undecided(const char *id, const struct symmetry_comparison *c)
{
    return begin(id, c->power_limited ? FINDING_NOTE : FINDING_DOUBT);
}

static const char *name_limit(const struct symmetry_comparison *c)
{
    return c->power_limited ? "power-limited: " : "";
}

/* Appends the finding with that sentence, unless there was no memory for one before it. */
__attribute__((format(printf, 3, 4))) static void add(struct teller *teller,
                                                      struct finding *finding, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(finding->sentence, sizeof(finding->sentence), fmt, args);
    va_end(args);
    if (!teller->rc)
        teller->rc = findings_add(teller->findings, finding, teller->err);
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

/* In how many comparisons the unit is odd, and in which one the most. */
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

/* "ratio 0.248, z -51.2, 4 units": how many the comparison is of. */
static void set_evidence(struct finding *finding, const struct symmetry_comparison *where,
                         const struct symmetry_unit *unit)
{
    char z[32] = "";
    if (isfinite(unit->z))
        (void)snprintf(z, sizeof(z), ", z %.3g", unit->z);
    (void)snprintf(finding->evidence, sizeof(finding->evidence), "ratio %.3g%s, %zu %s",
                   unit->ratio, z, where->n, where->kind == SYMMETRY_PAIR ? "pairs" : "units");
}

/* Told once, by its worst comparison. */
static void tell_odd(struct teller *teller, const struct symmetry_unit *unit)
{
    const struct symmetry_comparison *where = NULL;
    const struct symmetry_unit *worst;
    char what[160], value[48], typical[48], more[64] = "";
    struct finding finding = begin("unit_odd", FINDING_BAD);
    size_t n = find_worst(teller->symmetry, unit, &where, &worst);
    if (n > 1)
        (void)snprintf(more, sizeof(more), "; odd in %zu other comparison%s too", n - 1,
                       n == 2 ? "" : "s");
    (void)name_unit(teller, worst, finding.subject, sizeof(finding.subject));
    (void)name_comparison(where, what, sizeof(what));
    set_evidence(&finding, where, worst);
    if (where->sense == OUTLIER_WAITED)
        add(teller, &finding, "%s: the other%s %s for it%s", what,
            where->n == 2 ? " waits" : "s wait",
            format_amount(lateness(where, worst), where->row, value, sizeof(value)), more);
    else
        add(teller, &finding, "%s: %s is %.2f of its peers' %s%s", what,
            format_amount(worst->value.value, where->row, value, sizeof(value)),
            strcmp(where->row->better, "higher") == 0 ? worst->ratio : 1 / worst->ratio,
            format_amount(where->typical, where->row, typical, sizeof(typical)), more);
}

/* Each where it is met first. */
static void tell_odds(struct teller *teller)
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
                tell_odd(teller, unit);
        }
    struct finding more = begin("more_units_odd", FINDING_BAD);
    if (n > ODD_MAX)
        add(teller, &more, "%zu more are odd; see run.json", n - ODD_MAX);
}

static const char *plural_of(enum symmetry_kind kind)
{
    static const char *const plurals[SYMMETRY_KINDS] = {"GPUs", "ranks", "pairs of GPUs",
                                                        "sending GPUs", "receiving GPUs"};
    return plurals[kind];
}

static void tell_two(struct teller *teller, const struct symmetry_comparison *c)
{
    char what[160], slow[96], good[96], less[48], more[48];
    struct finding finding = begin_undecided("units_differ", c);
    bool higher = strcmp(c->row->better, "higher") == 0;
    bool first = (c->units[0].value.value < c->units[1].value.value) == higher;
    const struct symmetry_unit *worse = &c->units[!first], *better = &c->units[first];
    add(teller, &finding, "%s%s: %s has %s, %s has %s; of two, nobody can say which is the odd one",
        name_limit(c), name_comparison(c, what, sizeof(what)),
        name_unit(teller, worse, slow, sizeof(slow)),
        format_amount(worse->value.value, c->row, less, sizeof(less)),
        name_unit(teller, better, good, sizeof(good)),
        format_amount(better->value.value, c->row, more, sizeof(more)));
}

/* Far apart, but none is worse than most. */
static void tell_apart(struct teller *teller, const struct symmetry_comparison *c)
{
    char what[160], low[96], high[96], less[48], more[48];
    struct finding finding = begin_undecided("units_apart", c);
    (void)snprintf(finding.evidence, sizeof(finding.evidence), "%zu units", c->njudged);
    add(teller, &finding, "%s%s: %s has least, %s, and %s most, %s: not alike, but none is odd",
        name_limit(c), name_comparison(c, what, sizeof(what)),
        name_unit(teller, &c->least, low, sizeof(low)),
        format_amount(c->least.value.value, c->row, less, sizeof(less)),
        name_unit(teller, &c->most, high, sizeof(high)),
        format_amount(c->most.value.value, c->row, more, sizeof(more)));
}

static void tell_split(struct teller *teller, const struct symmetry_comparison *c)
{
    char what[160], amount[48];
    const char *plural = plural_of(c->least.kind);
    struct finding finding = begin_undecided("units_split", c);
    (void)name_comparison(c, what, sizeof(what));
    if (c->sense == OUTLIER_WAITED)
        add(teller, &finding,
            "%s: the others wait %s for %zu of %zu %s: too many to be called odd, rather groups",
            what, format_amount(lateness(c, &c->least), c->row, amount, sizeof(amount)), c->nlow,
            c->njudged, plural);
    else
        add(teller, &finding,
            "%s%s: %zu of %zu %s do not reach the others' %s: too many to be called odd, rather "
            "groups",
            name_limit(c), what, c->nlow, c->njudged, plural,
            format_amount(c->typical, c->row, amount, sizeof(amount)));
}

/* Of ranks that are just apart nothing is told: one that comes early is no fault of any. */
static bool is_told(const struct symmetry_comparison *c)
{
    bool apart = c->verdict == OUTLIER_SPLIT && !c->nlow;
    return c->verdict != OUTLIER_NONE && !(apart && c->kind == SYMMETRY_RANK);
}

static void tell_undecided(struct teller *teller)
{
    size_t n = 0;
    for (size_t i = 0; i < teller->symmetry->n; i++) {
        const struct symmetry_comparison *c = &teller->symmetry->all[i];
        if ((c->verdict != OUTLIER_TWO && c->verdict != OUTLIER_SPLIT) || !is_told(c))
            continue;
        if (n++ >= UNDECIDED_MAX)
            continue;
        if (c->verdict == OUTLIER_TWO)
            tell_two(teller, c);
        else if (c->nlow)
            tell_split(teller, c);
        else
            tell_apart(teller, c);
    }
    struct finding more = begin("more_units_undecided", FINDING_DOUBT);
    if (n > UNDECIDED_MAX)
        add(teller, &more, "%zu more comparisons without a verdict; see run.json",
            n - UNDECIDED_MAX);
}

/* GPUs of a comparison, where of a distance one stands for several nodes. */
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

/* "4 GPUs within 1.2% of each other in 12 comparisons"; "alike" where what differs is nothing. */
static void tell_alike(struct teller *teller, enum symmetry_kind kind)
{
    const struct symmetry_comparison *widest = NULL;
    size_t n = 0, units = 0;
    struct finding finding = begin("units_alike", FINDING_NOTE);
    char what[160], where[200] = "", close[48] = "alike";
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
    if (n > 1 && widest->spread > 0.05)
        (void)snprintf(where, sizeof(where), ", the widest: %s",
                       name_comparison(widest, what, sizeof(what)));
    /* Waits of microseconds differ by nothing, which is no percentage of anything. */
    if (widest->spread > 0)
        (void)snprintf(close, sizeof(close), "within %.1f%% of each other", 100 * widest->spread);
    add(teller, &finding, "%zu %s %s in %zu comparison%s%s", units, plural_of(kind), close, n,
        n == 1 ? "" : "s", where);
}

int symmetry_findings(const struct symmetry *symmetry, const struct topo *topo,
                      struct findings *findings, struct err *err)
{
    struct teller teller = {.symmetry = symmetry, .topo = topo, .findings = findings, .err = err};
    tell_odds(&teller);
    tell_undecided(&teller);
    tell_alike(&teller, SYMMETRY_GPU);
    tell_alike(&teller, SYMMETRY_PAIR);
    tell_alike(&teller, SYMMETRY_RANK);
    return teller.rc;
}
