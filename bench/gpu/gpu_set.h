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

#include "bench/gpu/gpu_overlap.h"
#include "harness/engine/contract/bench.h"

enum { GPU_SET_MAX = GPU_OVERLAP_GPUS };

struct gpu_set {
    const struct bench_machine *machine;
    struct err why;                  /* where callers let an error be written */
    unsigned n;                      /* GPUs of the machine, at most GPU_SET_MAX */
    struct err dropped[GPU_SET_MAX]; /* why a GPU is left out, with its name; code 0 = it is not */
};

/* Makes a set of all GPUs of the machine. */
void gpu_set_init(struct gpu_set *set, const struct bench_machine *machine);

/* Only in builds with CUDA: the same without GPUs that gpu_check of kernels/gpu/gpu_common.h
 * refuses. */
void gpu_set_open(struct gpu_set *set, const struct bench_machine *machine);

static inline bool gpu_set_has(const struct gpu_set *set, unsigned gpu)
{
    return set->dropped[gpu].code == 0;
}

/* Number of GPUs that are not left out. */
unsigned gpu_set_left(const struct gpu_set *set);

/* True if a group of bench/gpu/gpu_overlap.h can run: its GPU is left, or of all at least two. */
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
