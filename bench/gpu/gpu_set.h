/*
 * The GPUs that a scan measures, and why other GPUs are left out. So a GPU that is not usable, or
 * fails during a measurement, does not prevent values of the other GPUs.
 *
 *   gpu_set_init(&set, ctx->machine);
 *   rc = gpu_x(..., &set.why);
 *   gpu_set_drop(&set, gpu, rc);
 *   ... for all GPUs: if (gpu_set_has(&set, gpu)) ...
 *   rc = gpu_set_check(&set, ctx->err);       an error if no GPU is left
 *   gpu_set_emit(ctx, &set, METRIC, BY_GPU);  a row for each GPU that is left out
 */
#ifndef CONTEND_BENCH_GPU_GPU_SET_H
#define CONTEND_BENCH_GPU_GPU_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"

/*
 * One point of a scan on GPUs: batches of work on one GPU, or on several at once. A GPU gets its
 * next batch as soon as one of its batches is done, while another is queued. So no GPU waits for
 * the CPU or for a slower GPU. Batches count that begin and end while all GPUs work: after the
 * time to settle, and before the first GPU gets no more batches. Does not depend on CUDA.
 *
 *   struct gpu_overlap overlap = {.settle_s = gpu_settle_s(slice_s), .count_s = 2 * slice_s / 3,
 *                                 .depth = 2, .ops = &ops, .arg = scan};
 *   overlap.gpu[overlap.ngpus++] = 0;
 *   rc = gpu_overlap_run(&overlap);
 */
enum { GPU_OVERLAP_GPUS = 64 };

/*
 * After a failed call there are no more calls for that GPU: its queued batches stay until the
 * caller closes the GPU. The other GPUs get no more batches, and their queued batches are waited
 * for.
 */
struct gpu_overlap_ops {
    /* Queues a batch in an idle slot. */
    int (*queue)(void *arg, unsigned gpu, unsigned slot);
    int (*done)(void *arg, unsigned gpu, unsigned slot, bool *done);
    /* Called once for each batch, when it is done. */
    int (*take)(void *arg, unsigned gpu, unsigned slot, bool counts);
    /* Called while no batch is done: sleeps briefly or, if the running batches count, may read
     * sensors. */
    void (*idle)(void *arg, bool counts);
    uint64_t (*now_ns)(void *arg); /* NULL = clock_now_ns */
};

struct gpu_overlap {
    unsigned gpu[GPU_OVERLAP_GPUS], ngpus; /* GPUs that take part */
    unsigned depth;                        /* batches queued on a GPU: slots 0..depth-1 */
    double settle_s, count_s;
    const struct gpu_overlap_ops *ops;
    void *arg;
};

/* A group of a scan: GPUs first..end-1. Each GPU is a group; with several, all GPUs are another. */
struct gpu_group {
    unsigned first, end;
    bool all;
};
unsigned gpu_groups(unsigned ngpus);
struct gpu_group gpu_group_at(unsigned ngpus, unsigned group);

/*
 * How long the work of a point runs before it counts: a third of the point's time, but at least
 * 0.1 s, even beyond that time. Clocks then have risen from idle, which takes tens of milliseconds,
 * and effects of earlier work are over. The power limit settles more slowly; this does not wait for
 * it.
 */
double gpu_settle_s(double slice_s);

/*
 * If the batches of a GPU are too long for one to lie within the counted time, its last batch
 * counts. Returns 0, or the first error of a call.
 */
int gpu_overlap_run(const struct gpu_overlap *overlap);

enum { GPU_SET_MAX = GPU_OVERLAP_GPUS };

struct gpu_set {
    const struct bench_machine *machine;
    struct err why;                  /* where callers let an error be written */
    unsigned n;                      /* GPUs of the machine, at most GPU_SET_MAX */
    struct err dropped[GPU_SET_MAX]; /* why a GPU is left out, with its name; code 0 = it is not */
};

/* Only in builds with CUDA: the same without GPUs that gpu_check of kernels/gpu/gpu_common.h
 * refuses. */
void gpu_set_open(struct gpu_set *set, const struct bench_machine *machine);

static inline bool gpu_set_has(const struct gpu_set *set, unsigned gpu)
{
    return set->dropped[gpu].code == 0;
}

/* Number of GPUs that are not left out. */
unsigned gpu_set_left(const struct gpu_set *set);

/* True if a group of bench/gpu/gpu_set.h can run: its GPU is left, or of all at least two. */
bool gpu_set_runs(const struct gpu_set *set, const struct gpu_group *group);

/* Leaves a GPU out if rc is an error, for the reason in set->why, and warns on stderr; the first
 * reason stays. Returns rc. */
int gpu_set_drop(struct gpu_set *set, unsigned gpu, int rc);

/* If no GPU is left, returns the code and reason of the first GPU; else 0. */
int gpu_set_check(const struct gpu_set *set, struct err *err);

/* Emits an absent row "gpu=N" of that metric for each GPU that is left out. */
void gpu_set_emit(struct bench_ctx *ctx, const struct gpu_set *set, unsigned metric,
                  unsigned by_gpu);

#endif
