/*
 * A worker that feeds its device what loaders make, for a slice of time, and how long the device
 * has nothing to do meanwhile.
 *
 *   rc = feeding_run(&feeding, ctx, LOAD_PROCESS, 4, share_s, &fed);
 */
#ifndef CONTEND_BENCH_LOADER_FEEDING_H
#define CONTEND_BENCH_LOADER_FEEDING_H

#include "bench/device/device.h"
#include "bench/loader/loader_pool.h"

/* Batches that a device works on or has before it: one is copied while it works on the other. */
enum {
    FEEDING_IN_FLIGHT = 2,
    FEEDING_AHEAD_MOST = 2 * LOADERS_MOST,
    FEEDING_SLOTS_MOST = FEEDING_AHEAD_MOST + FEEDING_IN_FLIGHT
};

struct feeding {
    struct device_queue device;
    struct queue queue;
    struct loader_pool loader_pool;
    unsigned ahead;       /* batches that are ready or in the making; 0: two a loader */
    uint32_t epoch;       /* batches, behind which loaders are started anew; 0 = never */
    double gpu_s;         /* that the device worked on .. */
    uint64_t gpu_batches; /* .. so many */
    struct token last;    /* of a run, the batch that was fed last: it lies in its slot still */
};

/* Results of one worker in the part of its slice that counts. err.code 0 = well. */
struct fed {
    struct err err;
    double seconds, batches;
    double starved_s; /* the device had nothing to do, and no batch was ready */
    double first_s;   /* from the loaders' start to their first batch, mean over the starts */
    double read_rate; /* bytes a second that loaders read from a file */
    double cached;    /* the share of the file that was in memory before */
};

/* Slots that a run of so many loaders takes. */
unsigned feeding_slots(unsigned ahead, unsigned loaders);

/*
 * Collective: all workers begin at once. Errors of one worker's loaders are in its `fed`, those
 * that it returns are of the worker itself, of its device or of its peers.
 */
int feeding_run(struct feeding *feeding, const struct bench_ctx *ctx, enum load_mode mode,
                unsigned loaders, double share_s, struct fed *fed);

#endif
