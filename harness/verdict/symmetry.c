#include "harness/verdict/symmetry.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"

const char *symmetry_kind_name(enum symmetry_kind kind)
{
    static const char *const names[SYMMETRY_KINDS] = {"gpu", "rank", "pair", "from", "to"};
    return names[kind];
}

/* The benchmark's declaration of the row's metric; NULL = none. */
static const struct bench_metric *metric_of(const struct row *row)
{
    return bench_metric_find(row->arm->bench, row->metric);
}

static enum outlier_sense sense_of(const struct row *row)
{
    if (metric_of(row)->peers == PEERS_WAITED)
        return OUTLIER_WAITED;
    return strcmp(row->better, "higher") == 0 ? OUTLIER_HIGHER : OUTLIER_LOWER;
}

/* Rows with a background are not judged: there the scheduler decides which rank the others wait
 * for. */
static bool is_judged(const struct row *row)
{
    const struct bench_metric *metric = metric_of(row);
    if (!row->dims.n || isnan(row->median) || strcmp(row->better, "none") == 0 || !metric ||
        metric->peers == PEERS_DIFFER || arm_background(row->arm))
        return false;
    return dims_agree(&row->dims, metric->compare_filter);
}

/* Removes the unit of this kind from the dims and returns its number; -1 if the dims have none. */
static int take(const struct row *row, enum dim_kind kind, struct dims *at)
{
    unsigned dim = dim_find_kind(row->arm->bench, kind);
    int ordinal = dim ? dims_ordinal(row->arm->bench, at, dim) : -1;
    if (ordinal >= 0)
        *at = dims_without(at, dim);
    return ordinal;
}

/* Replaces the node by its distance from the GPU, if known. */
static void replace_node(const struct row *row, const struct symmetry_distance *distance,
                         struct dims *at, struct symmetry_unit *unit)
{
    struct dims rest = *at;
    int os_node = take(row, DIM_NODE, &rest);
    int far = os_node < 0 || !distance->node_distance
                  ? -1
                  : distance->node_distance(distance->arg, unit->id, os_node);
    if (far < 0)
        return;
    const char *text = str_fmt("distance=%d", far);
    *at = dims_with_text(rest, 0, text);
    unit->other = os_node;
}

/* Removes the unit from the row's dims, which become *at; false if the row has no unit. */
static bool take_unit(const struct row *row, const struct symmetry_distance *distance,
                      struct dims *at, struct symmetry_unit *unit)
{
    *unit = (struct symmetry_unit){.id = -1, .other = -1, .ratio = NAN, .z = NAN};
    unit->value.value = row->median;
    unit->value.low = row->ci_low;
    unit->value.high = row->ci_high;
    *at = row->dims;
    if ((unit->id = take(row, DIM_GPU, at)) >= 0) {
        unit->kind = SYMMETRY_GPU;
        replace_node(row, distance, at, unit);
    } else if ((unit->id = take(row, DIM_RANK, at)) >= 0) {
        unit->kind = SYMMETRY_RANK;
    } else {
        unit->kind = SYMMETRY_PAIR;
        unit->id = take(row, DIM_SOURCE, at);
        unit->other = take(row, DIM_TARGET, at);
        return unit->id >= 0 && unit->other >= 0 && unit->other != unit->id;
    }
    return true;
}

/* The comparison that the unit belongs to; added if it is the first unit. NULL = no memory. */
static struct symmetry_comparison *find_comparison(struct symmetry *symmetry, const struct row *row,
                                                   enum symmetry_kind kind, const struct dims *at)
{
    for (size_t i = 0; i < symmetry->n; i++) {
        struct symmetry_comparison *c = &symmetry->all[i];
        if (c->row->arm == row->arm && c->kind == kind && !strcmp(c->row->metric, row->metric) &&
            !dims_compare(&c->dims, at))
            return c;
    }
    struct symmetry_comparison *added = array_add(symmetry->all, symmetry->n, symmetry->capacity);
    if (!added)
        return NULL;
    *added =
        (struct symmetry_comparison){.row = row, .kind = kind, .sense = sense_of(row), .dims = *at};
    return added;
}

static int append_unit(struct symmetry_unit **units, size_t *n, const struct symmetry_unit *unit)
{
    struct symmetry_unit *grown = realloc(*units, (*n + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    *units = grown;
    grown[(*n)++] = *unit;
    return 0;
}

/* Scratch of one comparison. */
struct bench_of_judges {
    struct outlier_judgement judgement;
    struct outlier_value values[OUTLIER_UNITS_MAX];
    struct symmetry_unit units[OUTLIER_UNITS_MAX];
    size_t n;
    int rc; /* -ENOMEM: no memory for an odd unit */
};

static int compare_odd(const void *a, const void *b)
{
    const struct symmetry_unit *x = a, *y = b;
    return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* Judges the units of the scratch, and appends the odd units to the comparison. */
static void judge_units(struct symmetry_comparison *c, struct bench_of_judges *judges)
{
    for (size_t i = 0; i < judges->n; i++)
        judges->values[i] = judges->units[i].value;
    outlier_judge(judges->values, judges->n, c->sense, metric_of(c->row)->least,
                  &judges->judgement);
    for (size_t i = 0; i < judges->n; i++) {
        judges->units[i].ratio = judges->judgement.unit[i].ratio;
        judges->units[i].z = judges->judgement.unit[i].z;
        if (judges->judgement.unit[i].odd && !judges->rc)
            judges->rc = append_unit(&c->odd, &c->nodd, &judges->units[i]);
    }
}

static void note_judgement(struct symmetry_comparison *c, const struct bench_of_judges *judges)
{
    c->verdict = judges->judgement.verdict;
    c->typical = judges->judgement.typical;
    c->spread = judges->judgement.spread;
    c->nlow = judges->judgement.nlow;
    c->njudged = judges->n;
    for (size_t i = 0; i < judges->n; i++) {
        const struct symmetry_unit *unit = &judges->units[i];
        if (!i || unit->value.value < c->least.value.value)
            c->least = *unit;
        if (!i || unit->value.value > c->most.value.value)
            c->most = *unit;
    }
}

static bool is_better(const struct symmetry_comparison *c, double a, double b)
{
    return c->sense == OUTLIER_LOWER ? a < b : a > b;
}

/* True if `view`, such as "all pairs from 3", includes the pair. */
static bool covers(const struct symmetry_unit *view, const struct symmetry_unit *pair)
{
    bool from = view->id == pair->id, to = view->id == pair->other;
    switch (view->kind) {
    case SYMMETRY_GPU:
        return from || to;
    case SYMMETRY_FROM:
        return from;
    case SYMMETRY_TO:
        return to;
    default:
        return from && view->other == pair->other;
    }
}

static bool is_named(const struct symmetry_comparison *c, const struct symmetry_unit *pair)
{
    for (size_t i = 0; i < c->nodd; i++)
        if (covers(&c->odd[i], pair))
            return true;
    return false;
}

/* Counts the pair for the view of a GPU: adds the view, or raises its best value. */
static void add_view(const struct symmetry_comparison *c, struct bench_of_judges *judges,
                     enum symmetry_kind kind, int id, const struct symmetry_unit *pair)
{
    for (size_t i = 0; i < judges->n; i++) {
        struct symmetry_unit *view = &judges->units[i];
        if (view->id != id)
            continue;
        if (is_better(c, pair->value.value, view->value.value))
            view->value = pair->value;
        return;
    }
    if (judges->n < OUTLIER_UNITS_MAX)
        judges->units[judges->n++] =
            (struct symmetry_unit){.kind = kind, .id = id, .other = -1, .value = pair->value};
}

/* Judges the GPUs of all pairs that are not yet named, each by its best pair. Notes the first split
 * that this finds. */
static void judge_views(struct symmetry_comparison *c, enum symmetry_kind kind,
                        struct bench_of_judges *judges)
{
    judges->n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct symmetry_unit *pair = &c->units[i];
        if (is_named(c, pair))
            continue;
        if (kind != SYMMETRY_TO)
            add_view(c, judges, kind, pair->id, pair);
        if (kind != SYMMETRY_FROM)
            add_view(c, judges, kind, pair->other, pair);
    }
    if (judges->n < 3)
        return;
    judge_units(c, judges);
    if (judges->judgement.verdict == OUTLIER_SPLIT && c->verdict != OUTLIER_SPLIT)
        note_judgement(c, judges);
}

static void judge_comparison(struct symmetry_comparison *c, struct bench_of_judges *judges)
{
    bool pairs = c->kind == SYMMETRY_PAIR;
    if (pairs) {
        judge_views(c, SYMMETRY_GPU, judges);
        judge_views(c, SYMMETRY_FROM, judges);
        judge_views(c, SYMMETRY_TO, judges);
    }
    judges->n = 0;
    for (size_t i = 0; i < c->n && judges->n < OUTLIER_UNITS_MAX; i++)
        if (!pairs || !is_named(c, &c->units[i]))
            judges->units[judges->n++] = c->units[i];
    judge_units(c, judges);
    if (!pairs)
        memcpy(c->units, judges->units, judges->n * sizeof(*judges->units));
    /* A split of GPUs explains more than the verdict on their pairs, which may hide it. */
    if (!pairs || c->verdict != OUTLIER_SPLIT || c->nodd)
        note_judgement(c, judges);
    if (!c->nodd)
        return;
    c->verdict = OUTLIER_ODD;
    qsort(c->odd, c->nodd, sizeof(*c->odd), compare_odd);
}

/* True if a row shows that the worst GPU was at its power limit at the comparison's point. */
static bool is_power_limited(const struct rows *rows, const struct symmetry_comparison *c)
{
    const struct symmetry_unit *worst = c->sense == OUTLIER_LOWER ? &c->most : &c->least;
    bool limited = false;
    for (size_t i = 0; i < rows->n && c->kind == SYMMETRY_GPU && !limited; i++) {
        const struct row *row = &rows->row[i];
        const struct bench_metric *metric = row->arm == c->row->arm ? metric_of(row) : NULL;
        struct dims at = row->dims;
        limited = metric && metric->power_limit && dims_agree(&at, metric->power_limit) &&
                  dims_agree(&at, &c->dims) && take(row, DIM_GPU, &at) == worst->id &&
                  row->median > SYMMETRY_LIMITED;
    }
    return limited;
}

int symmetry_make(const struct rows *rows, const struct symmetry_distance *distance,
                  struct symmetry *out, struct err *err)
{
    *out = (struct symmetry){0};
    int rc = 0;
    for (size_t i = 0; i < rows->n && !rc; i++) {
        const struct row *row = &rows->row[i];
        struct dims at;
        struct symmetry_unit unit;
        if (!is_judged(row) || !take_unit(row, distance, &at, &unit))
            continue;
        struct symmetry_comparison *c = find_comparison(out, row, unit.kind, &at);
        rc = c ? append_unit(&c->units, &c->n, &unit) : -ENOMEM;
    }
    struct bench_of_judges *judges = calloc(1, sizeof(*judges));
    if (!judges)
        rc = -ENOMEM;
    for (size_t i = 0; i < out->n && !rc; i++) {
        judge_comparison(&out->all[i], judges);
        rc = judges->rc;
    }
    for (size_t i = 0; i < out->n && !rc; i++)
        out->all[i].power_limited = is_power_limited(rows, &out->all[i]);
    free(judges);
    return rc ? err_set(err, rc, "no memory for the comparison of equal units") : 0;
}

void symmetry_free(struct symmetry *symmetry)
{
    for (size_t i = 0; i < symmetry->n; i++) {
        free(symmetry->all[i].units);
        free(symmetry->all[i].odd);
    }
    free(symmetry->all);
    *symmetry = (struct symmetry){0};
}

static int topo_node_distance(const void *arg, int cuda_ordinal, int os_node)
{
    const struct topo *topo = arg;
    int to = topo_node_index(topo, (unsigned)os_node);
    for (unsigned i = 0; i < topo->ngpus; i++) {
        int from = topo->gpus[i].node;
        if (topo->gpus[i].cuda_ordinal != cuda_ordinal)
            continue;
        if (from < 0 || to < 0)
            return -1;
        if (topo->distances)
            return (int)topo->distances[(size_t)from * topo->nnodes + (size_t)to];
        return from == to ? SYMMETRY_NEAR : 2 * SYMMETRY_NEAR;
    }
    return -1;
}

struct symmetry_distance symmetry_topo_distance(const struct topo *topo)
{
    return (struct symmetry_distance){.node_distance = topo ? topo_node_distance : NULL,
                                      .arg = topo};
}

const char *symmetry_unit_bdf(const struct topo *topo, const struct symmetry_unit *unit)
{
    for (unsigned i = 0; topo && unit->kind != SYMMETRY_RANK && i < topo->ngpus; i++)
        if (topo->gpus[i].cuda_ordinal == unit->id)
            return topo->gpus[i].pci_bdf;
    return NULL;
}
