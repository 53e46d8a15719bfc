/*
 * One point of a scan on GPUs: batches of work on one GPU, or on several at once. Each GPU gets its
 * next batch as soon as one of its own is done, behind another that is queued, so that none waits
 * for us or for a slower GPU. A batch counts that began and ended while all were at work:
 * behind the time in which they settle, and before the first is let run out. Knows no GPU.
 *
 *   struct gpu_overlap overlap = {.settle_s = gpu_settle_s(slice_s), .count_s = 2 * slice_s / 3,
 *                                 .depth = 2, .ops = &ops, .arg = scan};
 *   overlap.gpu[overlap.ngpus++] = 0;
 *   rc = gpu_overlap_run(&overlap);
 */
#ifndef CONTEND_BENCH_GPU_GPU_OVERLAP_H
#define CONTEND_BENCH_GPU_GPU_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

enum { GPU_OVERLAP_GPUS = 64 };

/*
 * A GPU whose call fails is asked nothing more: what is queued on it is left to whoever closes it.
 * The others get nothing more either, and what they have is waited for.
 */
struct gpu_overlap_ops {
    /* A batch into a slot that is idle. */
    int (*queue)(void *arg, unsigned gpu, unsigned slot);
    int (*done)(void *arg, unsigned gpu, unsigned slot, bool *done);
    /* Once for each batch, when it is done. */
    int (*take)(void *arg, unsigned gpu, unsigned slot, bool counts);
    /* Nothing is done yet: a nap, or, where what is under way counts, a look at sensors. */
    void (*idle)(void *arg, bool counts);
    uint64_t (*now_ns)(void *arg); /* NULL = clock_now_ns */
};

struct gpu_overlap {
    unsigned gpu[GPU_OVERLAP_GPUS], ngpus; /* those that take part */
    unsigned depth;                        /* batches queued on a GPU: slots 0..depth-1 */
    double settle_s, count_s;
    const struct gpu_overlap_ops *ops;
    void *arg;
};

/* A group of a scan: each GPU alone, then, with several, all at once. GPUs first..end-1. */
struct gpu_group {
    unsigned first, end;
    bool all;
};
unsigned gpu_groups(unsigned ngpus);
struct gpu_group gpu_group_at(unsigned ngpus, unsigned group);

/*
 * How long the work of a point goes on before it counts, so that clocks have come up from those of
 * a GPU at rest, which takes tens of milliseconds, and what the GPU did before, this work or none,
 * is behind it: a third of the point's time, but 0.1 s at least, even beyond that time. It does not
 * wait for the power limit, which is slower.
 */
double gpu_settle_s(double slice_s);

/*
 * A GPU none of whose batches was in that time, since they are too long, counts its last one. 0, or
 * the first error of a call.
 */
int gpu_overlap_run(const struct gpu_overlap *overlap);

#endif
