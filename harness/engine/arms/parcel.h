/*
 * Observations as bytes, for this same program in another process of a job. Only what a trace
 * needs (`staged`) stays behind.
 */
#ifndef CONTEND_ENGINE_ARMS_PARCEL_H
#define CONTEND_ENGINE_ARMS_PARCEL_H

#include "harness/engine/arms/result.h"

/* Two ways through the same layout: lengths and copies cannot disagree. */
struct parcel {
    unsigned char *at, *end; /* NULL: only counts */
    size_t bytes;
};

void parcel_put(struct parcel *parcel, const void *from, size_t bytes);
/* Its GPUs and workers. */
void parcel_put_workers(struct parcel *parcel, const struct observation *from);

/* False: no memory, or a parcel too short. What was taken until then is freed as always. */
bool parcel_take(struct parcel *parcel, void *to, size_t bytes);
/* A copy of `n` elements in *out, NULL for none. */
bool parcel_take_array(struct parcel *parcel, void **out, size_t n, size_t size);
bool parcel_take_worker(struct parcel *parcel, struct worker_result *worker);

#endif
