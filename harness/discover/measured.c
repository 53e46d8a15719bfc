#include "harness/discover/measured.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/discover/measured_parts.h"

/* Where a metric's value goes; NULL for other metrics. */
static double *field_of(struct measured_pair *pair, const char *metric)
{
    if (strcmp(metric, "pair_latency") == 0)
        return &pair->latency_ns;
    if (strcmp(metric, "pair_latency_min") == 0)
        return &pair->latency_min_ns;
    return strcmp(metric, "pair_slowdown") == 0 ? &pair->slowdown : NULL;
}

/* The pair's place, or the free one that it would have. Half of the table is free. */
static struct measured_pair *find_place(const struct measured_scan *scan, unsigned a, unsigned b)
{
    uint64_t hash = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u; /* Fibonacci hashing */
    size_t at = (size_t)(hash >> 32) & (scan->room - 1);
    for (;; at = (at + 1) & (scan->room - 1)) {
        struct measured_pair *pair = &scan->pairs[at];
        if (pair->a == pair->b || (pair->a == a && pair->b == b))
            return pair;
    }
}

static bool make_room(struct measured_scan *scan)
{
    struct measured_scan old = *scan;
    if (2 * scan->npairs < scan->room)
        return true;
    size_t room = old.room ? 2 * old.room : 64;
    struct measured_pair *pairs = calloc(room, sizeof(*pairs));
    if (!pairs)
        return false;
    scan->pairs = pairs;
    scan->room = room;
    for (size_t i = 0; i < old.room; i++)
        if (old.pairs[i].a != old.pairs[i].b)
            *find_place(scan, old.pairs[i].a, old.pairs[i].b) = old.pairs[i];
    free(old.pairs);
    return true;
}

int measured_scan_put(struct measured_scan *scan, const char *metric, const char *key, double value,
                      struct err *err)
{
    struct measured_pair pair = {.latency_ns = NAN, .latency_min_ns = NAN, .slowdown = NAN};
    int end = 0;
    if (!field_of(&pair, metric) || sscanf(key, "a=%u;b=%u%n", &pair.a, &pair.b, &end) != 2 ||
        key[end] != '\0' || pair.a >= pair.b)
        return 0;
    if (!make_room(scan))
        return err_set(err, -ENOMEM, "no memory for %zu pairs of CPUs", scan->npairs + 1);
    struct measured_pair *place = find_place(scan, pair.a, pair.b);
    if (place->a == place->b) {
        *place = pair;
        scan->npairs++;
    }
    *field_of(place, metric) = value;
    return 0;
}

void measured_scan_free(struct measured_scan *scan)
{
    free(scan->pairs);
    *scan = (struct measured_scan){0};
}

/* Place of an os_cpu in the reported topology, -1 = none. */
static int reported_place(const struct topo *topo, unsigned os_cpu)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].os_cpu == os_cpu)
            return (int)i;
    return -1;
}

/* player_of[os_cpu] of every CPU that a scan names; -1 for others. */
static int number_players(struct measured_work *work, int *player_of, struct err *err)
{
    const struct topo *topo = work->input->reported;
    for (unsigned i = 0; i < BITSET_BITS; i++)
        player_of[i] = -1;
    for (unsigned s = 0; s < work->nscans; s++)
        for (size_t i = 0; i < work->input->scans[s].room; i++) {
            const struct measured_pair *pair = &work->input->scans[s].pairs[i];
            if (pair->a == pair->b)
                continue;
            unsigned ends[] = {pair->a, pair->b};
            for (int e = 0; e < 2; e++) {
                if (ends[e] >= BITSET_BITS ||
                    (player_of[ends[e]] < 0 && reported_place(topo, ends[e]) < 0))
                    return err_set(err, -EINVAL, "CPU %u was measured, but is not in the topology",
                                   ends[e]);
                player_of[ends[e]] = 0;
            }
        }
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (player_of[topo->cpus[i].os_cpu] == 0) {
            work->cpus[work->n] = &topo->cpus[i];
            player_of[topo->cpus[i].os_cpu] = (int)work->n++;
        }
    return work->n ? 0 : err_set(err, -EINVAL, "no pair of CPUs was measured");
}

static void work_free(struct measured_work *work)
{
    for (unsigned s = 0; work->scan && s < work->nscans; s++) {
        free(work->scan[s].siblings);
        free(work->scan[s].slowdown);
        free(work->scan[s].latency_ns);
    }
    free(work->core);
    free(work->least_ns);
    free(work->firm);
    free(work->always);
    free(work->ever);
    free(work->scan);
    free(work->cpus);
}

static double *unknown(size_t count)
{
    double *values = malloc(count * sizeof(*values));
    for (size_t i = 0; values && i < count; i++)
        values[i] = NAN;
    return values;
}

static bool allocate(struct measured_work *work)
{
    size_t cells = (size_t)work->n * work->n;
    work->scan = calloc(work->nscans, sizeof(*work->scan));
    work->ever = calloc(cells, sizeof(bool));
    work->always = calloc(cells, sizeof(bool));
    work->firm = calloc(cells, sizeof(bool));
    work->least_ns = unknown(cells);
    work->core = calloc(work->n, sizeof(int));
    bool good =
        work->scan && work->ever && work->always && work->firm && work->least_ns && work->core;
    for (unsigned s = 0; good && s < work->nscans; s++) {
        struct measured_matrices *scan = &work->scan[s];
        scan->latency_ns = unknown(cells);
        scan->slowdown = unknown(cells);
        scan->siblings = calloc(cells, sizeof(bool));
        good = scan->latency_ns && scan->slowdown && scan->siblings;
    }
    return good;
}

static void fill_scan(struct measured_work *work, unsigned s, const int *player_of)
{
    const struct measured_scan *from = &work->input->scans[s];
    struct measured_matrices *to = &work->scan[s];
    for (size_t i = 0; i < from->room; i++) {
        const struct measured_pair *pair = &from->pairs[i];
        if (pair->a == pair->b)
            continue;
        unsigned a = (unsigned)player_of[pair->a], b = (unsigned)player_of[pair->b];
        size_t there = measured_at(work, a, b), back = measured_at(work, b, a);
        to->latency_ns[there] = to->latency_ns[back] = pair->latency_ns;
        to->slowdown[there] = to->slowdown[back] = pair->slowdown;
        if (!isnan(pair->latency_ns) && !(work->least_ns[there] <= pair->latency_ns))
            work->least_ns[there] = work->least_ns[back] = pair->latency_ns;
    }
}

/* Of the pairs a < b. With two CPUs there is one, and nothing to compare it with. */
static double median_latency(const struct measured_work *work, const double *latency_ns,
                             double *scratch)
{
    size_t n = 0;
    if (work->n < 3)
        return NAN;
    for (unsigned a = 0; a < work->n; a++)
        for (unsigned b = a + 1; b < work->n; b++)
            scratch[n++] = latency_ns[measured_at(work, a, b)];
    n = stats_sort(scratch, n);
    return stats_median(scratch, n);
}

static int work_init(struct measured_work *work, const struct measured_input *input,
                     struct err *err)
{
    *work = (struct measured_work){.input = input, .nscans = input->nscans};
    int *player_of = malloc(BITSET_BITS * sizeof(*player_of));
    work->cpus = calloc(input->reported->ncpus + 1, sizeof(const struct topo_cpu *));
    int rc = player_of && work->cpus ? 0 : err_set(err, -ENOMEM, "no memory to compare scans");
    if (!rc)
        rc = number_players(work, player_of, err);
    if (!rc && !allocate(work))
        rc = err_set(err, -ENOMEM, "no memory to compare %u scans of %u CPUs", work->nscans,
                     work->n);
    for (unsigned s = 0; !rc && s < work->nscans; s++)
        fill_scan(work, s, player_of);
    free(player_of);
    double *scratch = rc ? NULL : malloc((size_t)work->n * work->n * sizeof(*scratch));
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
    struct measured_level alone[2] = {{.label = calloc(work->n, sizeof(int))},
                                      {.label = calloc(work->n, sizeof(int))}};
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
    measured->cpus = calloc(work->n, sizeof(*measured->cpus));
    if (!measured->cpus)
        return err_set(err, -ENOMEM, "no memory for %u CPUs", work->n);
    measured->ncpus = work->n;
    measured->ncores = work->ncores;
    for (unsigned i = 0; i < work->n; i++) {
        struct measured_cpu *cpu = &measured->cpus[i];
        *cpu = (struct measured_cpu){.os_cpu = work->cpus[i]->os_cpu, .core = work->core[i]};
        for (unsigned before = 0; before < i; before++)
            cpu->smt += work->core[before] == work->core[i];
        cpu->llc = measured->nllcs > 1 ? levels[0].label[i] : 0;
        cpu->package = measured->npackages > 1 ? levels[1].label[i] : 0;
    }
    return 0;
}

static int conclude(struct measured_work *work, struct measured *measured, struct err *err)
{
    struct measured_level levels[2] = {{.label = calloc(work->n, sizeof(int))},
                                       {.label = calloc(work->n, sizeof(int))}};
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
        rc = measured_tell(&story, &measured->findings, err);
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
