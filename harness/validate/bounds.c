#include "harness/validate/bounds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/validate/judge.h"

int bounds_add(struct bounds *bounds, const struct bound *bound, struct err *err)
{
    char *key = strdup(bound->key);
    struct bound *added = key ? array_add(bounds->all, bounds->n, bounds->capacity) : NULL;
    if (!added) {
        free(key);
        return err_set(err, -ENOMEM, "out of memory for %zu bounds", bounds->n + 1);
    }
    *added = *bound;
    added->key = key;
    return 0;
}

int bounds_leave_out(struct bounds *bounds, const char *machine, const char *reason,
                     struct err *err)
{
    struct bounds_left_out *added =
        array_add(bounds->left_out, bounds->nleft_out, bounds->left_out_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu machines", bounds->nleft_out + 1);
    (void)snprintf(added->machine, sizeof(added->machine), "%s", machine);
    (void)snprintf(added->reason, sizeof(added->reason), "%s", reason);
    return 0;
}

void bounds_free(struct bounds *bounds)
{
    for (size_t i = 0; i < bounds->n; i++)
        free(bounds->all[i].key);
    free(bounds->all);
    free(bounds->left_out);
    free(bounds->kind);
    *bounds = (struct bounds){0};
}

/* NORMAL: with this many degrees of freedom, Student's t equals the normal distribution. */
enum { PASSES = 4, NORMAL = 10000, TAIL_KNOWN = 500 };
#define SPREAD_LEAST 0.01

struct maker {
    const struct fleet *fleet;
    bool *skip;
    size_t nkept;
    double chance; /* probability that a good machine's value exceeds one bound */
    double normal; /* distance of a bound in spreads, for normal values */
    double *logs;  /* scratch, one per machine */
};

double spread_of_distances(const double *distances, size_t n)
{
    double spread = fmax(SPREAD_LEAST, stats_median(distances, n) / 0.6745);
    return n < BOUNDS_TAIL ? spread : fmax(spread, stats_percentile(distances, n, 0.95) / 1.96);
}

/* The spread, mixed with the prior and widened: see the header. */
static double make_spread(double measured, unsigned n)
{
    double known = fmin(1, fmax(0, ((double)n - BOUNDS_FEW) / (BOUNDS_SOME - BOUNDS_FEW)));
    measured = fmax(measured, SPREAD_LEAST) * (1 + 2.3 / sqrt(n)); /* NaN: the least */
    double both = sqrt(known * measured * measured + (1 - known) * BOUNDS_PRIOR * BOUNDS_PRIOR);
    return both * sqrt(1 + 1.571 / n); /* the reference is a median of n values, too */
}

/*
 * The distance that a fitted Student's t exceeds with that probability. The fit uses two points of
 * the tail: the distance that ten machines (at least one in a thousand) exceed, and the one that
 * three times as many exceed. With t, the points are further apart than for normal values, by z^2 /
 * (4 df) of each (Fisher and Cornish 1960). The excess is taken at its upper end, one standard
 * error more. With small n it counts less, by n / (n + TAIL_KNOWN).
 */
static double tail_quantile(const double *distances, size_t n, double chance)
{
    double all = (double)n, far = fmax(10 / all, 0.001), near = 3 * far;
    double z_far = student_quantile(far / 2, NORMAL), z_near = student_quantile(near / 2, NORMAL);
    double at_far = stats_percentile(distances, n, 1 - far);
    double excess = log(at_far / stats_percentile(distances, n, 1 - near) * z_near / z_far) +
                    1 / (sqrt(far * all) * z_far * z_far);
    double per_df = 4 * excess / (z_far * z_far - z_near * z_near) * all / (all + TAIL_KNOWN);
    double df = fmin(NORMAL, fmax(2, 1 / fmax(per_df, 1e-9)));
    return at_far * student_quantile(chance, df) / student_quantile(far / 2, df);
}

static double distance_to_bound(const struct maker *maker, size_t n, double spread)
{
    const double *distances = maker->logs;
    double core = make_spread(stats_median(distances, n) / 0.6745, (unsigned)n);
    double most = fmax(-log(1 - BOUNDS_MOST), maker->normal * core);
    double away = BOUNDS_HEAVIER * maker->normal * spread;
    if (n >= BOUNDS_TAIL)
        away = fmax(away, tail_quantile(distances, n, maker->chance));
    return fmax(-log(1 - BOUNDS_LEAST), fmin(most, away));
}

/* True if so few machines lack the figure that each machine should have it. */
static bool is_required(size_t n, size_t nkept)
{
    double all = (double)nkept, lacking = all - (double)n;
    return lacking <= fmax(0.02 * all, fmin(0.1 * all, 3));
}

/* Adds the bound of a figure over the remaining machines, if half of them have the figure. */
static int add_bound(const struct maker *maker, uint32_t at, struct bounds *bounds, struct err *err)
{
    const struct fleet *fleet = maker->fleet;
    const struct fleet_metric *metric = &fleet->metrics[at];
    size_t n = 0;
    for (size_t i = fleet->first[at]; i < fleet->first[at + 1]; i++)
        if (!maker->skip[fleet->cells[i].machine] && fleet->cells[i].value > 0)
            maker->logs[n++] = log(fleet->cells[i].value);
    if (!n || 2 * n < maker->nkept)
        return 0;
    double middle = stats_sort_median(maker->logs, n);
    for (size_t i = 0; i < n; i++)
        maker->logs[i] = fabs(maker->logs[i] - middle);
    n = stats_sort(maker->logs, n);
    double spread = make_spread(spread_of_distances(maker->logs, n), (unsigned)n);
    double away = distance_to_bound(maker, n, spread);
    char *key = str_fmt("%s", intern_text(&fleet->raw_keys, metric->raw_key));
    struct bound bound = {.key = key,
                          .higher = metric->higher,
                          .required = is_required(n, maker->nkept),
                          .reference = exp(middle),
                          .lower = exp(middle - away),
                          .upper = exp(middle + away),
                          .spread = spread,
                          .machines = (unsigned)n};
    (void)snprintf(bound.unit, sizeof(bound.unit), "%s", metric->unit);
    return bounds_add(bounds, &bound, err);
}

static int compare_bounds(const void *a, const void *b)
{
    return strcmp(((const struct bound *)a)->key, ((const struct bound *)b)->key);
}

static void put_how(const struct maker *maker, struct bounds *bounds)
{
    bounds->machines = (unsigned)maker->nkept;
    if (maker->nkept <= BOUNDS_FEW)
        (void)snprintf(bounds->how, sizeof(bounds->how),
                       "median; %zu machines do not show how far machines differ: bounds by the "
                       "%.1f%% of other fleets, at least %.0f%% away",
                       maker->nkept, 100 * BOUNDS_PRIOR, 100 * BOUNDS_LEAST);
    else
        (void)snprintf(bounds->how, sizeof(bounds->how),
                       "median; %.3g robust standard deviations, more where tails are heavy, at "
                       "least %.0f%% away%s",
                       BOUNDS_HEAVIER * maker->normal, 100 * BOUNDS_LEAST,
                       maker->nkept < BOUNDS_SOME ? "; few machines: partly by other fleets" : "");
}

/* Makes the bounds of the machines that are not left out. */
static int make(struct maker *maker, struct bounds *bounds, struct err *err)
{
    const struct fleet *fleet = maker->fleet;
    int rc = 0;
    for (size_t i = 0; i < bounds->n; i++)
        free(bounds->all[i].key);
    bounds->n = 0;
    maker->nkept = 0;
    for (uint32_t i = 0; i < fleet->names.n; i++)
        maker->nkept += !maker->skip[i];
    for (uint32_t metric = 0; metric < fleet->keys.n && !rc; metric++)
        rc = add_bound(maker, metric, bounds, err);
    if (!rc && bounds->n)
        qsort(bounds->all, bounds->n, sizeof(*bounds->all), compare_bounds);
    put_how(maker, bounds);
    return rc;
}

/* Leaves out machines that are odd by the current bounds. Returns how many, or a negative errno. */
static int leave_out_odd(struct maker *maker, struct bounds *bounds, struct err *err)
{
    struct fleet_judgement judgement = {0};
    int nodd = 0, rc = fleet_judge(maker->fleet, bounds, maker->skip, &judgement, err);
    for (size_t i = 0; !rc && i < judgement.nmachines; i++) {
        const struct fleet_judged *machine = &judgement.machines[i];
        struct finding worst;
        if (!machine->noffences)
            continue;
        fleet_finding(&judgement, &judgement.offences[machine->first], &worst);
        maker->skip[machine->machine] = true;
        rc = bounds_leave_out(bounds, intern_text(&maker->fleet->names, machine->machine),
                              worst.sentence, err);
        nodd++;
    }
    fleet_judgement_free(&judgement);
    return rc ? rc : nodd;
}

/*
 * Finds the most common kind. If there are several kinds, it must have enough machines, and more
 * than any other; if not, -ENODATA lists the kinds, "2 of 'X', 1 of 'Y'", as the message has room.
 */
static int find_kind(const struct fleet *fleet, uint32_t *kind, struct err *err)
{
    const char *all = "";
    size_t most = 0;
    bool tie = false;
    for (uint32_t i = 0; i < fleet->kinds.n; i++) {
        size_t n = fleet_count_kind(fleet, i);
        tie = n > most ? false : tie || n == most;
        *kind = n > most ? i : *kind;
        most = n > most ? n : most;
        if (n)
            str_add(&all, ", ", "%zu of '%.60s'", n, intern_text(&fleet->kinds, i));
    }
    if (most < fleet->names.n && (tie || most < BOUNDS_OF_KIND))
        return err_set(err, -ENODATA,
                       "machines of several kinds: give directories of one kind, or %d or more of "
                       "one kind, which must be the most common: %s",
                       BOUNDS_OF_KIND, all);
    if (!fleet->ncells)
        return err_set(err, -ENODATA,
                       "no figures to bound: the runs have no throughput, step times, bandwidths "
                       "or latencies");
    return 0;
}

int bounds_make(const struct fleet *fleet, struct bounds *bounds, struct err *err)
{
    size_t n = (size_t)fleet->names.n + 1;
    uint32_t kind = 0;
    *bounds = (struct bounds){0};
    int rc = find_kind(fleet, &kind, err);
    if (rc)
        return rc;
    bounds->kind = strdup(intern_text(&fleet->kinds, kind));
    struct maker maker = {.fleet = fleet,
                          .skip = calloc(n, sizeof(*maker.skip)),
                          .chance = BOUNDS_FALSE / (2.0 * fleet->keys.n),
                          .logs = calloc(n, sizeof(*maker.logs))};
    maker.normal = student_quantile(maker.chance, NORMAL);
    if (!maker.skip || !maker.logs || !bounds->kind)
        rc = err_set(err, -ENOMEM, "out of memory for %u machines", fleet->names.n);
    int nodd = 1; /* first without bounds: other kinds, and machines that their rules refused */
    for (int pass = 0; pass <= PASSES && !rc && nodd; pass++) {
        nodd = leave_out_odd(&maker, bounds, err);
        rc = nodd < 0 ? nodd : nodd || !pass ? make(&maker, bounds, err) : 0;
        nodd = pass ? nodd : 1;
    }
    free(maker.skip);
    free(maker.logs);
    return rc;
}
