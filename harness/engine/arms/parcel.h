/*
 * Observations as bytes, for the same program in another process of a job. Only `staged`, which a
 * trace needs, is left out.
 */
#ifndef CONTEND_ENGINE_ARMS_PARCEL_H
#define CONTEND_ENGINE_ARMS_PARCEL_H

#include "harness/engine/arms/result.h"

/* The same functions count bytes (at = NULL) and copy them, so lengths and copies agree. */
struct parcel {
    unsigned char *at, *end; /* at NULL: only counts */
    size_t bytes;
};

void parcel_put(struct parcel *parcel, const void *from, size_t bytes);
/* Appends the observation's GPUs and workers. */
void parcel_put_workers(struct parcel *parcel, const struct observation *from);

/* False: no memory, or the parcel is too short. The caller frees what was taken until then. */
bool parcel_take(struct parcel *parcel, void *to, size_t bytes);
/* *out is a new array of `n` elements, NULL if n is 0; the caller frees it. */
bool parcel_take_array(struct parcel *parcel, void **out, size_t n, size_t size);
bool parcel_take_worker(struct parcel *parcel, struct worker_result *worker);

#endif
