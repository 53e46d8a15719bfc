/*
 * The symmetry verdict on the rows of scans: compares rows of one arm and metric that differ only
 * in the unit (harness/verdict/outlier.h). Judges metrics whose benchmark declares that equal
 * units should have equal values (`peers`), and only rows that match `compare_filter`. For waits,
 * the low side is odd although less is better: the other ranks wait for that rank. Pure.
 *
 * The kinds of dimensions identify the unit: a GPU, a rank, or source and target, which are an
 * ordered pair of GPUs. Pairs are judged three times: as GPUs, by the best value that a GPU reaches
 * with any other; as sending or receiving GPUs; and pair by pair, without pairs of units already
 * named. So a GPU whose pairs are all slow is named once, although it takes part in half of all
 * pairs or more. If no unit is odd, but one of these views finds a split, the verdict is that
 * split.
 *
 * For rows with a GPU and a node, the node is replaced by its distance from the GPU, if known: then
 * each GPU with its near node is one comparison.
 */
#ifndef CONTEND_VERDICT_SYMMETRY_H
#define CONTEND_VERDICT_SYMMETRY_H

#include "harness/machine/topo.h"
#include "harness/record/row.h"
#include "harness/verdict/outlier.h"

enum symmetry_kind {
    SYMMETRY_GPU,
    SYMMETRY_RANK,
    SYMMETRY_PAIR, /* id -> other */
    SYMMETRY_FROM, /* all pairs from id */
    SYMMETRY_TO,   /* all pairs to id */
    SYMMETRY_KINDS
};
const char *symmetry_kind_name(enum symmetry_kind kind); /* "gpu", "rank", "pair", "from", "to" */

struct symmetry_unit {
    enum symmetry_kind kind;
    int id, other; /* pair: target; GPU: its node, if a distance is known; or -1 */
    struct outlier_value value;
    double ratio, z;
};

struct symmetry_comparison {
    const struct row *row; /* one of the rows: its arm, metric, unit; borrowed */
    enum symmetry_kind kind;
    enum outlier_sense sense;
    struct dims dims; /* without the unit: as a key "dir=h2d;mem=pinned;distance=10" */
    enum outlier_verdict verdict;
    double typical, spread; /* as in struct outlier_judgement */
    size_t nlow;
    size_t njudged; /* units that the verdict is about: `units`, or GPUs of pairs */
    struct symmetry_unit least, most; /* of the judged units, by value */
    size_t n;
    struct symmetry_unit *units; /* owned; as measured */
    size_t nodd;
    struct symmetry_unit *odd; /* owned; worst first */
    bool power_limited;        /* the worst GPU was at its power limit (bench_metric.power_limit) */
};

/* A GPU is limited by power if it was at its power limit for a larger share of the time than
 * this. */
#define SYMMETRY_LIMITED 0.1

struct symmetry {
    size_t n, capacity;
    struct symmetry_comparison *all; /* in the order of the rows */
};

/* Distance from a GPU to a node of host memory (ACPI: 10 = its own node); -1 = unknown. */
struct symmetry_distance {
    int (*node_distance)(const void *arg, int cuda_ordinal,
                         int os_node); /* NULL: all are unknown */
    const void *arg;
};

/* Free *out with symmetry_free, also after an error: -ENOMEM only. Borrows from rows. */
int symmetry_make(const struct rows *rows, const struct symmetry_distance *distance,
                  struct symmetry *out, struct err *err);
void symmetry_free(struct symmetry *symmetry);

/* The distance of a node to itself, as firmware reports it. */
enum { SYMMETRY_NEAR = 10 };

/* Distances between nodes and the topology's GPUs, for symmetry_make. Borrows topo. */
struct symmetry_distance symmetry_topo_distance(const struct topo *topo);

/* The PCI address of a unit's GPU; for pairs that of the source. NULL for ranks, unknown GPUs, or a
 * NULL topo. */
const char *symmetry_unit_bdf(const struct topo *topo, const struct symmetry_unit *unit);

#endif
