/*
 * The GPUs that a scan measures, and why others are left out: one that cannot be used, or that
 * fails while it is measured, hides none of the rest.
 *
 *   gpu_set_init(&set, ctx->machine);
 *   rc = gpu_x(..., msg, sizeof(msg));
 *   gpu_set_lose(&set, gpu, rc, msg);
 *   ... for all GPUs: if (gpu_set_has(&set, gpu)) ...
 *   rc = gpu_set_check(&set, ctx->err);       none is left
 *   gpu_set_emit(ctx, &set, METRIC, BY_GPU);  a row for each that is left out
 */
#ifndef CONTEND_BENCH_GPU_GPU_SET_H
#define CONTEND_BENCH_GPU_GPU_SET_H

#include <stdbool.h>

#include "bench/gpu/gpu_overlap.h"
#include "harness/contract/bench.h"

enum { GPU_SET_MAX = GPU_OVERLAP_GPUS };

struct gpu_set {
    const struct bench_machine *machine;
    unsigned n;                   /* GPUs of the machine, at most GPU_SET_MAX */
    struct err lost[GPU_SET_MAX]; /* why one is left out, with its name; code 0 = it is not */
};

/* All of the machine's. */
void gpu_set_init(struct gpu_set *set, const struct bench_machine *machine);

/* Only in builds with CUDA: the same without those that gpu_check of kernels/gpu/gpu_common.h
 * refuses. */
void gpu_set_open(struct gpu_set *set, const struct bench_machine *machine);

static inline bool gpu_set_has(const struct gpu_set *set, unsigned gpu)
{
    return set->lost[gpu].code == 0;
}

/* How many are not left out. */
unsigned gpu_set_left(const struct gpu_set *set);

/* Whether a group of bench/gpu/gpu_overlap.h is measured: its GPU is left, or of all two are. */
bool gpu_set_runs(const struct gpu_set *set, const struct gpu_group *group);

/* Leaves one out where rc < 0, for the first reason given, and says so on stderr. Returns rc. */
int gpu_set_lose(struct gpu_set *set, unsigned gpu, int rc, const char *msg);

/* Where none is left, the first one's code and reason. */
int gpu_set_check(const struct gpu_set *set, struct err *err);

/* "gpu=N" of that metric, absent, for each that is left out. */
void gpu_set_emit(struct bench_ctx *ctx, const struct gpu_set *set, unsigned metric,
                  unsigned by_gpu);

#endif
