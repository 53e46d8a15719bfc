/*
 * Times of single things, of which there may be more than there is room for: then every second one
 * goes, and from there on every second is taken. So those that are kept are spread evenly over all
 * that were seen, and their percentiles are those of the whole time, not of its begin.
 */
#ifndef CONTEND_BENCH_COMMON_STAMPS_H
#define CONTEND_BENCH_COMMON_STAMPS_H

#include <stddef.h>
#include <stdint.h>

enum { STAMPS_MOST = 1 << 16 }; /* even */

/* Zeroed: nothing was seen yet, and there is no room. */
struct stamps {
    double *value; /* [n] kept, in order, in the caller's unit */
    size_t n;
    uint64_t every, skip; /* one in so many is kept; how many more are not */
};

/* -ENOMEM; nothing is to be closed then. */
int stamps_open(struct stamps *stamps);
void stamps_add(struct stamps *stamps, double value);
void stamps_close(struct stamps *stamps);

#endif
