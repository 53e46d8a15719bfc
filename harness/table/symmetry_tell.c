#include "harness/table/symmetry_tell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/rows/key.h"

/* Sentences of one kind, so that a machine of many oddities still fits a screen. */
enum { SENTENCES_MAX = 8, UNDECIDED_MAX = 3 };

struct teller {
    const struct symmetry *symmetry;
    const struct topo *topo;
    FILE *out;
    bool color;
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
    char name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t used = (size_t)snprintf(buf, size, "%s", c->row->metric);
    for (unsigned part = 0; key_part(c->key, part, name, value) && used < size; part++) {
        bool number = value[0] >= '0' && value[0] <= '9';
        if (strcmp(name, "distance") == 0 && atoi(value) == SYMMETRY_NEAR)
            used += (size_t)snprintf(buf + used, size - used, " near");
        else
            used += (size_t)snprintf(buf + used, size - used, " %s%s%s", number ? name : "",
                                     number ? " " : "", value);
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

static void print_sentence(const struct teller *teller, const char *text, bool bad)
{
    bool red = bad && teller->color;
    (void)fputs(red ? "\033[31m" : "", teller->out);
    text_wrap(text, 0, 2, teller->out);
    (void)fputs(red ? "\033[0m" : "", teller->out);
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

static void print_late(const struct teller *teller, const struct symmetry_comparison *where,
                       const struct symmetry_unit *rank, const char *more)
{
    char name[96], what[160], late[48], line[500];
    (void)snprintf(line, sizeof(line), "symmetry: %s: the other%s %s for %s%s",
                   name_comparison(where, what, sizeof(what)), where->n == 2 ? " waits" : "s wait",
                   format_amount(lateness(where, rank), where->row, late, sizeof(late)),
                   name_unit(teller, rank, name, sizeof(name)), more);
    print_sentence(teller, line, true);
}

/* Told once, by its worst comparison. */
static void print_odd(const struct teller *teller, const struct symmetry_unit *unit)
{
    const struct symmetry_comparison *where = NULL;
    const struct symmetry_unit *worst;
    char name[96], what[160], value[48], typical[48], line[500], more[64] = "";
    size_t n = find_worst(teller->symmetry, unit, &where, &worst);
    if (n > 1)
        (void)snprintf(more, sizeof(more), "; odd in %zu other comparison%s too", n - 1,
                       n == 2 ? "" : "s");
    if (where->sense == OUTLIER_WAITED) {
        print_late(teller, where, worst, more);
        return;
    }
    (void)snprintf(line, sizeof(line), "symmetry: %s, %s: %s is %.2f of its peers' %s%s",
                   name_unit(teller, worst, name, sizeof(name)),
                   name_comparison(where, what, sizeof(what)),
                   format_amount(worst->value.value, where->row, value, sizeof(value)),
                   strcmp(where->row->better, "higher") == 0 ? worst->ratio : 1 / worst->ratio,
                   format_amount(where->typical, where->row, typical, sizeof(typical)), more);
    print_sentence(teller, line, true);
}

/* Returns how many units are odd; each is printed where it is met first. */
static size_t print_odds(const struct teller *teller)
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
            if (!met && n++ < SENTENCES_MAX)
                print_odd(teller, unit);
        }
    if (n > SENTENCES_MAX) {
        char line[100];
        (void)snprintf(line, sizeof(line), "symmetry: %zu more are odd; see run.json",
                       n - SENTENCES_MAX);
        print_sentence(teller, line, true);
    }
    return n;
}

static const char *plural_of(enum symmetry_kind kind)
{
    static const char *const plurals[SYMMETRY_KINDS] = {"GPUs", "ranks", "pairs of GPUs",
                                                        "sending GPUs", "receiving GPUs"};
    return plurals[kind];
}

static void print_two(const struct teller *teller, const struct symmetry_comparison *c)
{
    char what[160], slow[96], good[96], less[48], more[48], line[500];
    bool higher = strcmp(c->row->better, "higher") == 0;
    bool first = (c->units[0].value.value < c->units[1].value.value) == higher;
    const struct symmetry_unit *worse = &c->units[!first], *better = &c->units[first];
    (void)snprintf(line, sizeof(line),
                   "symmetry: %s: %s has %s, %s has %s; of two, nobody can say which is the odd "
                   "one",
                   name_comparison(c, what, sizeof(what)),
                   name_unit(teller, worse, slow, sizeof(slow)),
                   format_amount(worse->value.value, c->row, less, sizeof(less)),
                   name_unit(teller, better, good, sizeof(good)),
                   format_amount(better->value.value, c->row, more, sizeof(more)));
    print_sentence(teller, line, false);
}

/* Far apart, but none is worse than most. */
static void print_apart(const struct teller *teller, const struct symmetry_comparison *c)
{
    char what[160], low[96], high[96], less[48], more[48], line[500];
    (void)snprintf(line, sizeof(line),
                   "symmetry: %s: %s has least, %s, and %s most, %s: not alike, but none is odd",
                   name_comparison(c, what, sizeof(what)),
                   name_unit(teller, &c->least, low, sizeof(low)),
                   format_amount(c->least.value.value, c->row, less, sizeof(less)),
                   name_unit(teller, &c->most, high, sizeof(high)),
                   format_amount(c->most.value.value, c->row, more, sizeof(more)));
    print_sentence(teller, line, false);
}

static void print_split(const struct teller *teller, const struct symmetry_comparison *c)
{
    char what[160], typical[48], late[48], line[500];
    const char *plural = plural_of(c->least.kind);
    (void)name_comparison(c, what, sizeof(what));
    (void)format_amount(c->typical, c->row, typical, sizeof(typical));
    (void)format_amount(lateness(c, &c->least), c->row, late, sizeof(late));
    if (c->sense == OUTLIER_WAITED)
        (void)snprintf(line, sizeof(line),
                       "symmetry: %s: the others wait %s for %zu of %zu %s: too many to be called "
                       "odd, rather groups",
                       what, late, c->nlow, c->njudged, plural);
    else
        (void)snprintf(line, sizeof(line),
                       "symmetry: %s: %zu of %zu %s do not reach the others' %s: too many to be "
                       "called odd, rather groups",
                       what, c->nlow, c->njudged, plural, typical);
    print_sentence(teller, line, false);
}

/* Of ranks that are just apart nothing is told: one that comes early is no fault of any. */
static bool is_told(const struct symmetry_comparison *c)
{
    bool apart = c->verdict == OUTLIER_SPLIT && !c->nlow;
    return c->verdict != OUTLIER_NONE && !(apart && c->kind == SYMMETRY_RANK);
}

static void print_undecided(const struct teller *teller)
{
    size_t n = 0;
    for (size_t i = 0; i < teller->symmetry->n; i++) {
        const struct symmetry_comparison *c = &teller->symmetry->all[i];
        if ((c->verdict != OUTLIER_TWO && c->verdict != OUTLIER_SPLIT) || !is_told(c))
            continue;
        if (n++ >= UNDECIDED_MAX)
            continue;
        if (c->verdict == OUTLIER_TWO)
            print_two(teller, c);
        else if (c->nlow)
            print_split(teller, c);
        else
            print_apart(teller, c);
    }
    if (n > UNDECIDED_MAX) {
        char line[100];
        (void)snprintf(line, sizeof(line),
                       "symmetry: %zu more comparisons without a verdict; see run.json",
                       n - UNDECIDED_MAX);
        print_sentence(teller, line, false);
    }
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
static void print_alike(const struct teller *teller, enum symmetry_kind kind)
{
    const struct symmetry_comparison *widest = NULL;
    size_t n = 0, units = 0;
    char line[340], what[160], where[200] = "", close[48] = "alike";
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
    (void)snprintf(line, sizeof(line), "symmetry: %zu %s %s in %zu comparison%s%s", units,
                   plural_of(kind), close, n, n == 1 ? "" : "s", where);
    print_sentence(teller, line, false);
}

void symmetry_tell(const struct symmetry *symmetry, const struct topo *topo, FILE *out, bool color)
{
    const struct teller teller = {.symmetry = symmetry, .topo = topo, .out = out, .color = color};
    bool any = false;
    for (size_t i = 0; i < symmetry->n; i++)
        any = any || is_told(&symmetry->all[i]);
    if (!any)
        return;
    (void)fputc('\n', out);
    (void)print_odds(&teller);
    print_undecided(&teller);
    print_alike(&teller, SYMMETRY_GPU);
    print_alike(&teller, SYMMETRY_PAIR);
    print_alike(&teller, SYMMETRY_RANK);
}
