#include "harness/engine/discover/measured_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/stats.h"

/* See measured.h. */
static const double jump = 1.3;
enum { LONE_SHARE = 10 };

/* The cores as points: distances, and the spanning tree over them. */
struct forest {
    unsigned n;          /* cores */
    double *distance_ns; /* [n][n] */
    double *edge_ns;     /* [n]: of the tree, from i to parent[i]; root 0 has none */
    unsigned *parent;
    bool *in_tree;
    double *sorted_ns; /* n - 1 edges */
    int *label;        /* [n] */
    unsigned *size;    /* [n]: cores of a label */
    double *scratch;   /* [n * n] */
};

static void forest_free(struct forest *f)
{
    free(f->scratch);
    free(f->size);
    free(f->label);
    free(f->sorted_ns);
    free(f->in_tree);
    free(f->parent);
    free(f->edge_ns);
    free(f->distance_ns);
}

static bool forest_init(struct forest *f, unsigned n)
{
    size_t cells = (size_t)n * n;
    *f = (struct forest){.n = n};
    f->distance_ns = malloc(cells * sizeof(double));
    f->edge_ns = malloc(n * sizeof(double));
    f->parent = calloc(n, sizeof(unsigned));
    f->in_tree = calloc(n, sizeof(bool));
    f->sorted_ns = malloc(n * sizeof(double));
    f->label = calloc(n, sizeof(int));
    f->size = calloc(n, sizeof(unsigned));
    f->scratch = malloc(cells * sizeof(double));
    return f->distance_ns && f->edge_ns && f->parent && f->in_tree && f->sorted_ns && f->label &&
           f->size && f->scratch;
}

/* Least latency between two cores' CPUs. A floating one is no distance: it says where CPUs were. */
static void measure_distances(struct forest *f, const struct measured_work *work,
                              const double *latency_ns)
{
    for (size_t i = 0; i < (size_t)f->n * f->n; i++)
        f->distance_ns[i] = INFINITY;
    for (unsigned a = 0; a < work->n; a++)
        for (unsigned b = 0; b < work->n; b++) {
            size_t from = measured_at(work, a, b);
            double *d = &f->distance_ns[(size_t)work->core[a] * f->n + (size_t)work->core[b]];
            if (work->core[a] != work->core[b] && !work->ever[from] && latency_ns[from] < *d)
                *d = latency_ns[from];
        }
}

/* Prim. False: some core was never measured against the others. */
static bool grow_tree(struct forest *f)
{
    for (unsigned i = 0; i < f->n; i++)
        f->edge_ns[i] = INFINITY;
    unsigned last = 0;
    f->in_tree[0] = true;
    for (unsigned step = 1; step < f->n; step++) {
        unsigned best = 0;
        for (unsigned i = 1; i < f->n; i++) {
            double d = f->distance_ns[(size_t)last * f->n + i];
            if (!f->in_tree[i] && d < f->edge_ns[i]) {
                f->edge_ns[i] = d;
                f->parent[i] = last;
            }
            if (!f->in_tree[i] && (best == 0 || f->edge_ns[i] < f->edge_ns[best]))
                best = i;
        }
        if (isinf(f->edge_ns[best]))
            return false;
        f->in_tree[best] = true;
        f->sorted_ns[step - 1] = f->edge_ns[best];
        last = best;
    }
    return true;
}

/* Cuts the tree's edges longer than limit_ns. Labels are the smallest member of each part. */
static void cut(struct forest *f, double limit_ns)
{
    for (unsigned i = 0; i < f->n; i++)
        f->label[i] = (int)i;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = 1; i < f->n; i++) {
            int *a = &f->label[i], *b = &f->label[f->parent[i]];
            if (f->edge_ns[i] > limit_ns || *a == *b)
                continue;
            *a = *b = *a < *b ? *a : *b;
            changed = true;
        }
    }
    memset(f->size, 0, f->n * sizeof(*f->size));
    for (unsigned i = 0; i < f->n; i++)
        f->size[f->label[i]]++;
}

static double mean_distance(const struct forest *f, unsigned core, int label)
{
    double sum_ns = 0, count = 0;
    for (unsigned i = 0; i < f->n; i++)
        if (f->label[i] == label && i != core) {
            sum_ns += f->distance_ns[(size_t)core * f->n + i];
            count++;
        }
    return sum_ns / count;
}

/* Lone cores go to the cluster that is nearest on average. Returns how many there were. */
static unsigned place_lone(struct forest *f)
{
    unsigned lone = 0;
    for (unsigned i = 0; i < f->n; i++) {
        double best_ns = INFINITY;
        if (f->size[f->label[i]] != 1)
            continue;
        lone++;
        for (unsigned label = 0; label < f->n; label++) {
            double mean_ns = f->size[label] < 2 ? INFINITY : mean_distance(f, i, (int)label);
            if (mean_ns < best_ns) {
                best_ns = mean_ns;
                f->label[i] = (int)label;
            }
        }
    }
    return lone;
}

static double median_distance(struct forest *f, bool within)
{
    size_t n = 0;
    for (unsigned i = 0; i < f->n; i++)
        for (unsigned j = 0; j < i; j++)
            if ((f->label[i] == f->label[j]) == within &&
                !isinf(f->distance_ns[(size_t)i * f->n + j]))
                f->scratch[n++] = f->distance_ns[(size_t)i * f->n + j];
    return stats_sort_median(f->scratch, n);
}

/* Is this cut a level? Then into *level, by CPU and with labels 0... */
static bool take_level(struct forest *f, const struct measured_work *work, double limit_ns,
                       struct measured_level *level)
{
    cut(f, limit_ns);
    unsigned clusters = 0;
    for (unsigned label = 0; label < f->n; label++)
        clusters += f->size[label] > 1;
    if (clusters < 2 || place_lone(f) * LONE_SHARE > f->n)
        return false;
    double within_ns = median_distance(f, true), across_ns = median_distance(f, false);
    if (!(across_ns >= jump * within_ns))
        return false;
    int next = 0;
    for (unsigned i = 0; i < f->n; i++) /* labels in order of first appearance */
        f->size[i] = UINT32_MAX;
    for (unsigned a = 0; a < work->n; a++) {
        unsigned label = (unsigned)f->label[work->core[a]];
        if (f->size[label] == UINT32_MAX)
            f->size[label] = (unsigned)next++;
        level->label[a] = (int)f->size[label];
    }
    level->clusters = clusters;
    level->within_ns = within_ns;
    level->across_ns = across_ns;
    return true;
}

int measured_find_levels(const struct measured_work *work, const double *latency_ns,
                         struct measured_level *lowest, struct measured_level *highest,
                         struct err *err)
{
    struct forest f;
    lowest->clusters = highest->clusters = 0;
    if (work->ncores < 4)
        return 0;
    if (!forest_init(&f, work->ncores)) {
        forest_free(&f);
        return err_set(err, -ENOMEM, "no memory to compare %u cores", work->ncores);
    }
    measure_distances(&f, work, latency_ns);
    size_t edges = grow_tree(&f) ? stats_sort(f.sorted_ns, f.n - 1) : 0;
    for (size_t i = 0; i + 1 < edges; i++) {
        double limit_ns = sqrt(f.sorted_ns[i] * f.sorted_ns[i + 1]);
        if (f.sorted_ns[i + 1] < jump * f.sorted_ns[i])
            continue;
        if (lowest->clusters == 0)
            (void)take_level(&f, work, limit_ns, lowest);
        (void)take_level(&f, work, limit_ns, highest);
    }
    forest_free(&f);
    return 0;
}

/* Labels count up by first appearance, so equal partitions have equal labels. */
bool measured_same_level(const struct measured_work *work, const struct measured_level *a,
                         const struct measured_level *b)
{
    if (a->clusters != b->clusters)
        return false;
    return a->clusters == 0 || memcmp(a->label, b->label, work->n * sizeof(*a->label)) == 0;
}
