/*
 * The symmetry verdict on the rows of scans. Rows of one arm and metric that stand apart in
 * nothing but the unit are compared with each other (harness/verdict/odd/outlier.h): of metrics of
 * which the benchmark says that equal units are to be equal (`peers`), as far as they are
 * `compare_filter`. Of a wait the low side is odd, though less of it is better: that rank is the
 * one that the others wait for. Pure.
 *
 * Units are told by the kinds of dimensions: a GPU, a rank, and source with target, which is an
 * ordered pair of GPUs. Pairs are looked at three times: as GPUs, by the best that one reaches with
 * any other; as GPUs sending or receiving; and one by one, without those already named. So a GPU
 * whose pairs are all slow is named once, and does not hide behind being half of all pairs. Where
 * none is odd, but one of the looks finds them split, that is the verdict.
 *
 * Of a GPU and a node, the node gives way to how far it is from the GPU, where that is
 * known: each GPU from its near node is one comparison.
 */
#ifndef CONTEND_VERDICT_ODD_SYMMETRY_H
#define CONTEND_VERDICT_ODD_SYMMETRY_H

#include "harness/machine/topo/topo.h"
#include "harness/rows/row.h"
#include "harness/verdict/odd/outlier.h"

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
    int id, other; /* other: of a pair; of a GPU the node, where several of a distance are; or -1 */
    struct outlier_value value;
    double ratio, z;
};

struct symmetry_comparison {
    const struct row *row; /* one of them: its arm, metric, unit; borrowed */
    enum symmetry_kind kind;
    enum outlier_sense sense;
    struct dims dims; /* without the unit: as a key "dir=h2d;mem=pinned;distance=10" */
    enum outlier_verdict verdict;
    double typical, spread; /* as in struct outlier_judgement */
    size_t nlow;
    size_t njudged; /* units that the verdict is on: those below, or GPUs of pairs */
    struct symmetry_unit least, most; /* of them, by value */
    size_t n;
    struct symmetry_unit *units; /* owned; as measured */
    size_t nodd;
    struct symmetry_unit *odd; /* owned; worst first */
    bool power_limited; /* the worst GPU was at its power limit (power_limit of struct bench_metric)
                         */
};

/* A GPU that was at its power limit for a larger share of the time is limited by it. */
#define SYMMETRY_LIMITED 0.1

struct symmetry {
    size_t n, capacity;
    struct symmetry_comparison *all; /* in the order of the rows */
};

/* How far a node of host memory is from a GPU (ACPI: 10 = its own); -1 = unknown. */
struct symmetry_distance {
    int (*ask)(const void *arg, int cuda_ordinal, int os_node); /* NULL: all unknown */
    const void *arg;
};

/* Free *out with symmetry_free, also after an error: -ENOMEM only. Borrows from rows. */
int symmetry_make(const struct rows *rows, const struct symmetry_distance *distance,
                  struct symmetry *out, struct err *err);
void symmetry_free(struct symmetry *symmetry);

/* The distance of a node to itself, as firmware tells it. */
enum { SYMMETRY_NEAR = 10 };

/* Distances between nodes and the topology's GPUs, for symmetry_make. Borrows topo. */
struct symmetry_distance symmetry_topo_distance(const struct topo *topo);

/* PCI address of a GPU among `topo`'s (NULL = none are known); NULL for pairs, ranks and others. */
const char *symmetry_unit_bdf(const struct topo *topo, const struct symmetry_unit *unit);

#endif
