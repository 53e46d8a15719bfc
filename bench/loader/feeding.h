/*
 * A worker feeds its device with batches from loaders for a slice of time, and measures how long
 * the device has nothing to do.
 *
 *   rc = feeding_run(&feeding, ctx, LOAD_PROCESS, 4, share_s, &result);
 */
#ifndef CONTEND_BENCH_LOADER_FEEDING_H
#define CONTEND_BENCH_LOADER_FEEDING_H

#include "bench/device/device.h"
#include "bench/loader/loader_pool.h"

/* FEEDING_IN_FLIGHT: batches that the device has; it works on one while the other is copied. */
enum {
    FEEDING_IN_FLIGHT = 2,
    FEEDING_PREFETCH_MOST = 2 * LOADERS_MOST,
    FEEDING_SLOTS_MOST = FEEDING_PREFETCH_MOST + FEEDING_IN_FLIGHT
};

struct feeding {
    struct device_queue device;
    struct queue queue;
    struct loader_pool loader_pool;
    unsigned prefetch;    /* batches ready or in the making; 0: two a loader */
    uint32_t epoch;       /* batches after which loaders are restarted; 0 = never */
    double gpu_s;         /* the device's work on gpu_batches */
    uint64_t gpu_batches; /* batches that the device has done */
    struct token last;    /* last batch that a run fed; its slot still holds it */
};

/* Results of one worker in the part of its slice that counts. err.code 0 = no error. */
struct feeding_result {
    struct err err;
    double seconds, batches;
    double starved_s; /* the device had nothing to do, and no batch was ready */
    double first_s;   /* from the loaders' start to their first batch, mean over starts; or NaN */
    double read_rate; /* bytes a second that loaders read from a file; or NaN */
    double cached;    /* share of the file in the page cache before the run */
};

/* Slots that a run needs. */
unsigned feeding_slots(unsigned prefetch, unsigned loaders);

/*
 * Collective: all workers begin at once. Errors of this worker's loaders and device are in
 * result->err; the return value has errors of the peers.
 */
int feeding_run(struct feeding *feeding, const struct bench_ctx *ctx, enum load_mode mode,
                unsigned loaders, double share_s, struct feeding_result *result);

#endif
