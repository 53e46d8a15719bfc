#include "harness/engine/discover/measured.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/discover/measured_parts.h"
#include "harness/lib/stats/stats.h"

static double *unknown(size_t count)
{
    double *values = malloc(count * sizeof(*values));
    for (size_t i = 0; values && i < count; i++)
        values[i] = NAN;
    return values;
}

int measured_scan_init(struct measured_scan *scan, const struct topo *topo, struct err *err)
{
    size_t cells = (size_t)topo->ncpus * topo->ncpus;
    *scan = (struct measured_scan){.n = topo->ncpus,
                                   .place = malloc(BITSET_BITS * sizeof(*scan->place)),
                                   .latency_ns = unknown(cells),
                                   .slowdown = unknown(cells)};
    if (!scan->place || !scan->latency_ns || !scan->slowdown)
        return err_set(err, -ENOMEM, "no memory for the pairs of %u CPUs", topo->ncpus);
    for (unsigned os_cpu = 0; os_cpu < BITSET_BITS; os_cpu++)
        scan->place[os_cpu] = -1;
    for (unsigned i = 0; i < topo->ncpus; i++)
        scan->place[topo->cpus[i].os_cpu] = (int)i;
    return 0;
}

int measured_scan_put(struct measured_scan *scan, const char *metric, unsigned cpu_a,
                      unsigned cpu_b, double value, struct err *err)
{
    const unsigned cpus[2] = {cpu_a, cpu_b};
    double *to = strcmp(metric, "pair_latency") == 0    ? scan->latency_ns
                 : strcmp(metric, "pair_slowdown") == 0 ? scan->slowdown
                                                        : NULL;
    if (!to)
        return 0;
    for (int i = 0; i < 2; i++)
        if (cpus[i] >= BITSET_BITS || scan->place[cpus[i]] < 0)
            return err_set(err, -EINVAL, "CPU %u was measured, but is not in the topology",
                           cpus[i]);
    size_t a = (size_t)scan->place[cpus[0]], b = (size_t)scan->place[cpus[1]];
    to[a * scan->n + b] = to[b * scan->n + a] = value;
    return 0;
}

void measured_scan_free(struct measured_scan *scan)
{
    free(scan->slowdown);
    free(scan->latency_ns);
    free(scan->place);
    *scan = (struct measured_scan){0};
}

static bool is_measured(const struct measured_input *input, unsigned place)
{
    unsigned n = input->reported->ncpus;
    for (unsigned s = 0; s < input->nscans; s++)
        for (size_t at = (size_t)place * n; at < ((size_t)place + 1) * n; at++)
            if (!isnan(input->scans[s].latency_ns[at]) || !isnan(input->scans[s].slowdown[at]))
                return true;
    return false;
}

static int find_players(struct measured_work *work, struct err *err)
{
    const struct topo *topo = work->input->reported;
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (is_measured(work->input, i))
            work->cpus[work->n++] = &topo->cpus[i];
    return work->n ? 0 : err_set(err, -EINVAL, "no pair of CPUs was measured");
}

static void work_free(struct measured_work *work)
{
    for (unsigned s = 0; work->scan && s < work->nscans; s++)
        free(work->scan[s].siblings);
    free(work->core);
    free(work->least_ns);
    free(work->firm);
    free(work->always);
    free(work->ever);
    free(work->scan);
    free(work->cpus);
}

static bool allocate(struct measured_work *work)
{
    size_t cells = measured_cells(work) + 1; /* never an empty array */
    work->scan = calloc(work->nscans, sizeof(*work->scan));
    work->ever = calloc(cells, sizeof(bool));
    work->always = calloc(cells, sizeof(bool));
    work->firm = calloc(cells, sizeof(bool));
    work->least_ns = unknown(cells);
    work->core = calloc(work->n + 1, sizeof(int));
    bool good =
        work->scan && work->ever && work->always && work->firm && work->least_ns && work->core;
    for (unsigned s = 0; good && s < work->nscans; s++) {
        work->scan[s].siblings = calloc(cells, sizeof(bool));
        good = work->scan[s].siblings != NULL;
    }
    return good;
}

static void look_at(struct measured_work *work, unsigned s)
{
    work->scan[s].latency_ns = work->input->scans[s].latency_ns;
    work->scan[s].slowdown = work->input->scans[s].slowdown;
    for (size_t i = 0; i < measured_cells(work); i++)
        work->least_ns[i] = fmin(work->least_ns[i], work->scan[s].latency_ns[i]);
}

/* The median of the pairs a < b. With two CPUs there is one, and nothing to compare it with. */
static double median_latency(const struct measured_work *work, const double *latency_ns,
                             double *scratch)
{
    size_t n = 0;
    if (work->n < 3)
        return NAN;
    for (unsigned a = 0; a < work->n; a++)
        for (unsigned b = a + 1; b < work->n; b++)
            scratch[n++] = latency_ns[measured_at(work, a, b)];
    return stats_sort_median(scratch, n);
}

static int work_init(struct measured_work *work, const struct measured_input *input,
                     struct err *err)
{
    *work = (struct measured_work){.input = input, .nscans = input->nscans};
    work->cpus = calloc(input->reported->ncpus + 1, sizeof(const struct topo_cpu *));
    int rc = work->cpus ? 0 : err_set(err, -ENOMEM, "no memory to compare scans");
    if (!rc)
        rc = find_players(work, err);
    if (!rc && !allocate(work))
        rc = err_set(err, -ENOMEM, "no memory to compare %u scans of %u CPUs", work->nscans,
                     work->n);
    for (unsigned s = 0; !rc && s < work->nscans; s++)
        look_at(work, s);
    double *scratch = rc ? NULL : malloc(((size_t)work->n * work->n + 1) * sizeof(*scratch));
    if (!rc && !scratch)
        rc = err_set(err, -ENOMEM, "no memory to compare %u CPUs", work->n);
    for (unsigned s = 0; !rc && s < work->nscans; s++)
        work->scan[s].median_ns = median_latency(work, work->scan[s].latency_ns, scratch);
    free(scratch);
    return rc;
}

/* Lowest and highest level of all scans together, and whether each scan alone has them too. */
static int find_levels(const struct measured_work *work, struct measured_level levels[2],
                       enum measured_state *state, struct err *err)
{
    struct measured_level alone[2] = {{.label = calloc(work->n + 1, sizeof(int))},
                                      {.label = calloc(work->n + 1, sizeof(int))}};
    int rc = alone[0].label && alone[1].label ? 0 : err_set(err, -ENOMEM, "no memory for clusters");
    if (!rc)
        rc = measured_find_levels(work, work->least_ns, &levels[0], &levels[1], err);
    unsigned shown = 0, same = 0;
    for (unsigned s = 0; !rc && s < work->nscans; s++) {
        rc = measured_find_levels(work, work->scan[s].latency_ns, &alone[0], &alone[1], err);
        shown += alone[0].clusters > 0;
        same += measured_same_level(work, &levels[0], &alone[0]) &&
                measured_same_level(work, &levels[1], &alone[1]);
    }
    /* Where all together show none, a noisy scan that does is no sign. */
    bool floats = levels[0].clusters ? same < work->nscans : shown == work->nscans;
    *state = work->nscans < 2 ? MEASURED_UNCONFIRMED : floats ? MEASURED_FLOATING : MEASURED_STABLE;
    free(alone[0].label);
    free(alone[1].label);
    return rc;
}

static void count_pairs(const struct measured_work *work, struct measured *measured)
{
    for (unsigned a = 0; a < work->n; a++)
        for (unsigned b = 0; b < a; b++) {
            bool firm = work->firm[measured_at(work, a, b)];
            measured->sibling_pairs += firm;
            measured->floating_pairs += work->ever[measured_at(work, a, b)] && !firm;
        }
}

static int fill_cpus(const struct measured_work *work, const struct measured_level levels[2],
                     struct measured *measured, struct err *err)
{
    measured->cpus = calloc(work->n + 1, sizeof(*measured->cpus));
    if (!measured->cpus)
        return err_set(err, -ENOMEM, "no memory for %u CPUs", work->n);
    measured->ncpus = work->n;
    measured->ncores = work->ncores;
    for (unsigned i = 0; i < work->n; i++) {
        struct measured_cpu *cpu = &measured->cpus[i];
        *cpu = (struct measured_cpu){.os_cpu = work->cpus[i]->os_cpu, .core = work->core[i]};
        cpu->llc = measured->nllcs > 1 ? levels[0].label[i] : 0;
        cpu->package = measured->npackages > 1 ? levels[1].label[i] : 0;
    }
    return 0;
}

static int conclude(struct measured_work *work, struct measured *measured, struct err *err)
{
    struct measured_level levels[2] = {{.label = calloc(work->n + 1, sizeof(int))},
                                       {.label = calloc(work->n + 1, sizeof(int))}};
    struct measured_story story = {work, measured, &levels[0], &levels[1], MEASURED_STABLE};
    int rc =
        levels[0].label && levels[1].label ? 0 : err_set(err, -ENOMEM, "no memory for clusters");
    measured_find_siblings(work);
    count_pairs(work, measured);
    measured->median_ns = work->scan[work->nscans / 2].median_ns;
    if (!rc)
        rc = find_levels(work, levels, &story.levels_state, err);
    bool holds = story.levels_state != MEASURED_FLOATING;
    measured->floating = measured->floating_pairs || !holds;
    measured->nllcs = holds && levels[0].clusters ? levels[0].clusters : 1;
    measured->npackages = holds && levels[1].clusters ? levels[1].clusters : 1;
    if (!rc)
        rc = fill_cpus(work, levels, measured, err);
    if (!rc)
        rc = measured_report(&story, &measured->findings, err);
    free(levels[0].label);
    free(levels[1].label);
    return rc;
}

int measured_find(const struct measured_input *input, struct measured *measured, struct err *err)
{
    struct measured_work work;
    *measured = (struct measured){.median_ns = NAN};
    if (input->nscans == 0)
        return err_set(err, -EINVAL, "no scan to conclude from");
    int rc = work_init(&work, input, err);
    if (!rc)
        rc = conclude(&work, measured, err);
    work_free(&work);
    return rc;
}

void measured_free(struct measured *measured)
{
    findings_free(&measured->findings);
    free(measured->cpus);
    *measured = (struct measured){0};
}
