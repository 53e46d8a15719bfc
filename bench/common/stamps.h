/*
 * A bounded sample of times. When the array is full, every second time is dropped, and from then on
 * only every second one is kept. So the kept times are spread evenly, and their percentiles are
 * those of the whole run, not of its start.
 */
#ifndef CONTEND_BENCH_COMMON_STAMPS_H
#define CONTEND_BENCH_COMMON_STAMPS_H

#include <stddef.h>
#include <stdint.h>

enum { STAMPS_MOST = 1 << 16 }; /* even */

/* Zeroed: empty, without room. */
struct stamps {
    double *value; /* [n] kept, in order, in the caller's unit */
    size_t n;
    uint64_t every, skip; /* one in `every` is kept; the next `skip` are not */
};

/* -ENOMEM; stamps_close is not needed then. */
int stamps_open(struct stamps *stamps);
void stamps_add(struct stamps *stamps, double value);
void stamps_close(struct stamps *stamps);

#endif
