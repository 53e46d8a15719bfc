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
#ifndef CONTEND_BENCH_GPU_GPU_OVERLAP_H
#define CONTEND_BENCH_GPU_GPU_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
