/*
 * Inside of discover/: the steps from scans to findings. Players are places in `cpus`, the measured
 * ones among the reported topology's, in its order; matrices are those of struct measured_scan.
 */
#ifndef CONTEND_ENGINE_DISCOVER_MEASURED_PARTS_H
#define CONTEND_ENGINE_DISCOVER_MEASURED_PARTS_H

#include "harness/engine/discover/measured.h"

enum measured_state { MEASURED_STABLE, MEASURED_FLOATING, MEASURED_UNCONFIRMED };

/* The result of one scan. */
struct measured_view {
    const double *latency_ns, *slowdown; /* the scan's own */
    bool *siblings;                      /* behave so in this scan */
    double median_ns;
};

struct measured_work {
    const struct measured_input *input;
    unsigned n, nscans;
    const struct topo_cpu **cpus; /* [n], into input->reported */
    struct measured_view *scan;
    bool *ever, *always; /* matrix: siblings in one scan, in all */
    bool *firm;          /* matrix: siblings that hold; the others of `ever` float */
    double *least_ns;    /* matrix: latency, the least of the scans */
    int *core;           /* [n]: 0.. by firm siblings */
    unsigned ncores;
};

/* Clusters of players at one level; label -1 nowhere. */
struct measured_level {
    int *label;                  /* [n] */
    unsigned clusters;           /* 0 = no such level */
    double within_ns, across_ns; /* medians over pairs of cores */
};

static inline size_t measured_at(const struct measured_work *work, unsigned a, unsigned b)
{
    const struct topo *topo = work->input->reported;
    return (size_t)(work->cpus[a] - topo->cpus) * topo->ncpus +
           (size_t)(work->cpus[b] - topo->cpus);
}

/* The cells of a matrix. */
static inline size_t measured_cells(const struct measured_work *work)
{
    return (size_t)work->input->reported->ncpus * work->input->reported->ncpus;
}

/* Median over scans of a pair's latency or slowdown where it was measured; NaN where never. */
double measured_latency(const struct measured_work *work, unsigned a, unsigned b);
double measured_slowdown(const struct measured_work *work, unsigned a, unsigned b);

/* siblings, ever, always, firm, core, ncores. */
void measured_find_siblings(struct measured_work *work);

/*
 * The lowest and highest level by `latency_ns` (of one scan, or least_ns); their labels have room
 * for n.
 */
int measured_find_levels(const struct measured_work *work, const double *latency_ns,
                         struct measured_level *lowest, struct measured_level *highest,
                         struct err *err);

/* Same partition, whatever the labels? */
bool measured_same_level(const struct measured_work *work, const struct measured_level *a,
                         const struct measured_level *b);

/* The parts that sentences are made from. */
struct measured_story {
    const struct measured_work *work;
    const struct measured *measured;
    const struct measured_level *lowest, *highest;
    enum measured_state levels_state;
};

/* Appends to *findings, bad ones and doubts first. -ENOMEM only. */
int measured_report(const struct measured_story *story, struct findings *findings, struct err *err);

#endif
