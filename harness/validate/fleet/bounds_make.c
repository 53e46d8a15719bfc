#include "harness/validate/fleet/bounds_make.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/stats.h"
#include "harness/validate/fleet/judge.h"
#include "harness/validate/fleet/spread.h"
#include "harness/validate/fleet/tail.h"

enum {
    BELOW,
    ABOVE,
    SIDES,
    CLASSES = 3,
    PASSES = 4,
    CALIBRATED_FROM = 100,
    HEAVIEST_AT = 100,
    FAR = 4
};

/* One figure over the machines that are not left out. */
struct column {
    uint32_t metric;
    unsigned n;
    double middle;        /* logarithm of the reference */
    double spread[SIDES]; /* of logarithms */
    double core[SIDES];   /* of the half of them that is closer: no bad batch widens it */
    int class[SIDES];     /* by how heavy the tail is */
};

struct maker {
    const struct fleet *fleet;
    bool *skip;
    size_t nkept;
    struct column *columns;
    size_t ncolumns;
    double *logs, *distances; /* scratch, one a machine */
    double *farthest;         /* CLASSES a machine: spreads to its figure that is farthest away */
    double normal;            /* spreads to a bound, were all values normal, */
    double limit[CLASSES];    /* and as they are */
};

static bool maker_init(struct maker *maker, const struct fleet *fleet)
{
    size_t n = (size_t)fleet->names.n + 1;
    *maker = (struct maker){.fleet = fleet,
                            .skip = calloc(n, sizeof(bool)),
                            .columns = calloc((size_t)fleet->keys.n + 1, sizeof(struct column)),
                            .logs = calloc(n, sizeof(double)),
                            .distances = calloc(n, sizeof(double)),
                            .farthest = calloc(n * CLASSES, sizeof(double))};
    return maker->skip && maker->columns && maker->logs && maker->distances && maker->farthest;
}

static void maker_free(struct maker *maker)
{
    free(maker->skip);
    free(maker->columns);
    free(maker->logs);
    free(maker->distances);
    free(maker->farthest);
}

/* Of few machines the spread is hardly known: see the header. */
static double make_spread(double measured, unsigned n)
{
    double known = fmin(1, fmax(0, ((double)n - BOUNDS_FEW) / (BOUNDS_SOME - BOUNDS_FEW)));
    measured = fmax(measured, SPREAD_LEAST) * (1 + 3.3 / sqrt(n)); /* of NaN the least */
    double both = sqrt(known * measured * measured + (1 - known) * BOUNDS_PRIOR * BOUNDS_PRIOR);
    return both * sqrt(1 + 1.571 / n); /* the reference is a median of n, too */
}

/* By the share of machines that normal values have beyond only by chance. */
static int class_of(size_t nfar, unsigned n)
{
    double share = (double)nfar / n;
    return share <= 0.0001 ? 0 : share <= 0.002 ? 1 : 2;
}

static void measure_side(struct maker *maker, struct column *column, int side)
{
    size_t count = 0;
    for (size_t i = 0; i < column->n; i++) {
        double distance = maker->logs[i] - column->middle;
        distance = side == BELOW ? -distance : distance;
        if (distance >= 0)
            maker->distances[count++] = distance;
    }
    count = stats_sort(maker->distances, count);
    column->spread[side] = make_spread(spread_of_distances(maker->distances, count), column->n);
    column->core[side] = make_spread(stats_median(maker->distances, count) / 0.6745, column->n);
    size_t nfar = 0;
    while (nfar < count && maker->distances[count - nfar - 1] > FAR * column->spread[side])
        nfar++;
    column->class[side] = class_of(nfar, column->n);
}

/* False where too few machines have the figure. */
static bool measure_column(struct maker *maker, uint32_t metric, struct column *column)
{
    const struct fleet *fleet = maker->fleet;
    *column = (struct column){.metric = metric};
    for (size_t i = fleet->first[metric]; i < fleet->first[metric + 1]; i++) {
        const struct fleet_cell *cell = &fleet->cells[i];
        if (!maker->skip[cell->machine] && cell->value > 0)
            maker->logs[column->n++] = log(cell->value);
    }
    if (!column->n || 2 * (size_t)column->n < maker->nkept)
        return false;
    column->middle = stats_sort_median(maker->logs, column->n);
    for (int side = 0; side < SIDES; side++)
        measure_side(maker, column, side);
    return true;
}

static void measure_columns(struct maker *maker)
{
    maker->nkept = 0;
    maker->ncolumns = 0;
    for (uint32_t i = 0; i < maker->fleet->names.n; i++)
        maker->nkept += !maker->skip[i];
    for (uint32_t metric = 0; metric < maker->fleet->keys.n; metric++)
        if (measure_column(maker, metric, &maker->columns[maker->ncolumns]))
            maker->ncolumns++;
}

static void find_farthest(struct maker *maker)
{
    const struct fleet *fleet = maker->fleet;
    for (size_t i = 0; i < CLASSES * (size_t)fleet->names.n; i++)
        maker->farthest[i] = NAN;
    for (const struct column *column = maker->columns; column < maker->columns + maker->ncolumns;
         column++)
        for (size_t i = fleet->first[column->metric]; i < fleet->first[column->metric + 1]; i++) {
            const struct fleet_cell *cell = &fleet->cells[i];
            double distance = cell->value > 0 ? log(cell->value) - column->middle : -INFINITY;
            int side = distance < 0 ? BELOW : ABOVE;
            double *most =
                &maker->farthest[cell->machine * (size_t)CLASSES + (size_t)column->class[side]];
            *most = fmax(*most, fabs(distance) / column->spread[side]);
        }
}

static void find_limits(struct maker *maker)
{
    size_t count[CLASSES] = {0}, all = SIDES * maker->ncolumns;
    for (size_t i = 0; i < maker->ncolumns; i++)
        for (int side = 0; side < SIDES; side++)
            count[maker->columns[i].class[side]]++;
    find_farthest(maker);
    maker->normal = all ? tail_normal(BOUNDS_FALSE / (double)all) : 0;
    double heavier = 1.15 + 3 / sqrt(fmax((double)maker->nkept, HEAVIEST_AT));
    for (int class = 0; class < CLASSES; class ++) {
        size_t n = 0;
        maker->limit[class] = heavier * maker->normal;
        for (size_t i = 0; i < maker->fleet->names.n; i++) {
            double farthest = maker->farthest[i * CLASSES + (size_t) class];
            if (!maker->skip[i] && !isnan(farthest))
                maker->distances[n++] = farthest;
        }
        if (n >= CALIBRATED_FROM) {
            double share = (double)count[class] / (double)all;
            maker->limit[class] = fmax(maker->limit[class],
                                       tail_of_maxima(maker->distances, n, BOUNDS_FALSE * share));
        }
    }
}

/* Few may lack it, and it still is what a machine should have. */
static bool is_required(const struct column *column, size_t nkept)
{
    double n = (double)nkept, lacking = n - column->n;
    return lacking <= fmax(0.02 * n, fmin(0.1 * n, 3));
}

static int compare_bounds(const void *a, const void *b)
{
    return strcmp(((const struct bound *)a)->key, ((const struct bound *)b)->key);
}

static double distance_to_bound(const struct maker *maker, const struct column *column, int side)
{
    double spread = column->spread[side], limit = maker->limit[column->class[side]];
    double most = fmax(-log(1 - BOUNDS_MOST), maker->normal * column->core[side]);
    return fmax(-log(1 - BOUNDS_LEAST), fmin(most, limit * spread));
}

static int add_bound(const struct maker *maker, const struct column *column, struct bounds *bounds,
                     struct err *err)
{
    const struct fleet_metric *metric = &maker->fleet->metrics[column->metric];
    char key[FLEET_KEY_MAX];
    double away[SIDES];
    for (int side = 0; side < SIDES; side++)
        away[side] = distance_to_bound(maker, column, side);
    (void)snprintf(key, sizeof(key), "%s", intern_text(&maker->fleet->spelled, metric->spelled));
    struct bound bound = {.key = key,
                          .higher = metric->higher,
                          .required = is_required(column, maker->nkept),
                          .reference = exp(column->middle),
                          .lower = exp(column->middle - away[BELOW]),
                          .upper = exp(column->middle + away[ABOVE]),
                          .spread = fmax(column->spread[BELOW], column->spread[ABOVE]),
                          .machines = column->n};
    (void)snprintf(bound.unit, sizeof(bound.unit), "%s", metric->unit);
    return bounds_add(bounds, &bound, err);
}

static void say_how(const struct maker *maker, struct bounds *bounds)
{
    bounds->machines = (unsigned)maker->nkept;
    if (maker->nkept <= BOUNDS_FEW)
        (void)snprintf(bounds->how, sizeof(bounds->how),
                       "median; %zu machines do not tell how far machines differ: bounds from the "
                       "%.1f%% seen elsewhere, at least %.0f%% away",
                       maker->nkept, 100 * BOUNDS_PRIOR, 100 * BOUNDS_LEAST);
    else
        (void)snprintf(bounds->how, sizeof(bounds->how),
                       "median; %.3g robust standard deviations, more where tails are heavy, at "
                       "least %.0f%% away%s",
                       maker->limit[0], 100 * BOUNDS_LEAST,
                       maker->nkept < BOUNDS_SOME ? "; few machines: partly what was seen elsewhere"
                                                  : "");
}

/* Bounds of the machines that are not left out. */
static int make(struct maker *maker, struct bounds *bounds, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < bounds->n; i++)
        free(bounds->all[i].key);
    bounds->n = 0;
    measure_columns(maker);
    find_limits(maker);
    for (size_t i = 0; i < maker->ncolumns && !rc; i++)
        rc = add_bound(maker, &maker->columns[i], bounds, err);
    if (!rc && bounds->n)
        qsort(bounds->all, bounds->n, sizeof(*bounds->all), compare_bounds);
    say_how(maker, bounds);
    return rc;
}

/* Those of another kind, before anything is measured. */
static int leave_out_kinds(struct maker *maker, uint32_t kind, struct bounds *bounds,
                           struct err *err)
{
    const struct fleet *fleet = maker->fleet;
    int rc = 0;
    for (uint32_t i = 0; i < fleet->names.n && !rc; i++) {
        maker->skip[i] = fleet->machines[i].kind != kind;
        if (maker->skip[i]) {
            char reason[sizeof(bounds->left_out->reason)];
            (void)snprintf(reason, sizeof(reason), "another kind: %.140s",
                           intern_text(&fleet->kinds, fleet->machines[i].kind));
            rc = bounds_leave_out(bounds, intern_text(&fleet->names, i), reason, err);
        }
    }
    return rc;
}

/* Judges by the bounds so far; returns how many more were left out, or a negative errno. */
static int leave_out_odd(struct maker *maker, struct bounds *bounds, struct err *err)
{
    struct fleet_judgement judgement = {0};
    int nodd = 0, rc = fleet_judge(maker->fleet, bounds, maker->skip, &judgement, err);
    for (size_t i = 0; !rc && i < judgement.nmachines; i++) {
        const struct fleet_judged *machine = &judgement.machines[i];
        if (!machine->noffences)
            continue;
        char what[FLEET_SAID_MAX], much[FLEET_SAID_MAX], reason[2 * FLEET_SAID_MAX + 2];
        const struct fleet_offence *worst = &judgement.offences[machine->first];
        (void)fleet_offence_what(maker->fleet, bounds, &judgement, worst, what, sizeof(what));
        (void)fleet_offence_much(worst, much, sizeof(much));
        (void)snprintf(reason, sizeof(reason), "%s%s%s", what, *much ? ": " : "", much);
        maker->skip[machine->machine] = true;
        rc = bounds_leave_out(bounds, intern_text(&maker->fleet->names, machine->machine), reason,
                              err);
        nodd++;
    }
    fleet_judgement_free(&judgement);
    return rc ? rc : nodd;
}

/* "...: 2 of 'X', 1 of 'Y' ...", as many as a message has room for. */
static int refuse_kinds(const struct fleet *fleet, struct err *err)
{
    char all[160] = "", one[96];
    for (uint32_t kind = 0; kind < fleet->kinds.n; kind++) {
        size_t used = strlen(all), n = 0;
        for (uint32_t i = 0; i < fleet->names.n; i++)
            n += fleet->machines[i].kind == kind;
        (void)snprintf(one, sizeof(one), "%s%zu of '%.60s'", used ? ", " : "", n,
                       intern_text(&fleet->kinds, kind));
        if (n && used + strlen(one) < sizeof(all) - strlen(" ..."))
            (void)snprintf(all + used, sizeof(all) - used, "%s", one);
        else if (n) {
            (void)snprintf(all + used, sizeof(all) - used, " ...");
            break;
        }
    }
    return err_set(
        err, -ENODATA,
        "which kind of machine is meant? Give directories of one; of several, %d or more must be "
        "of one, and more than of any other: %s",
        BOUNDS_OF_KIND, all);
}

int bounds_make(const struct fleet *fleet, struct bounds *bounds, struct err *err)
{
    struct maker maker;
    size_t nkind;
    bool tie;
    uint32_t kind = fleet_common_kind(fleet, &nkind, &tie);
    *bounds = (struct bounds){0};
    if (kind != INTERN_NONE && nkind < fleet->names.n && (tie || nkind < BOUNDS_OF_KIND))
        return refuse_kinds(fleet, err);
    if (kind == INTERN_NONE || !fleet->ncells)
        return err_set(err, -ENODATA,
                       "no figures that could be bounded: runs without throughput, "
                       "step times, bandwidths or latencies");
    bounds->kind = strdup(intern_text(&fleet->kinds, kind));
    int rc = maker_init(&maker, fleet) && bounds->kind
                 ? leave_out_kinds(&maker, kind, bounds, err)
                 : err_set(err, -ENOMEM, "out of memory for %u machines", fleet->names.n);
    if (!rc)
        rc = make(&maker, bounds, err);
    int nodd = 1;
    for (int pass = 0; pass < PASSES && !rc && nodd; pass++) {
        nodd = leave_out_odd(&maker, bounds, err);
        rc = nodd < 0 ? nodd : nodd > 0 ? make(&maker, bounds, err) : 0;
    }
    maker_free(&maker);
    return rc;
}
