/*
 * A bounded sample of times. When the array is full, every second time is dropped, and from then on
 * only every second one is kept. So the kept times are spread evenly, and their percentiles are
 * those of the whole run, not of its start.
 */
#ifndef CONTEND_BENCH_IO_TIME_SAMPLE_H
#define CONTEND_BENCH_IO_TIME_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { TIME_SAMPLE_MOST = 1 << 16 }; /* even */

/* Zeroed: empty, without room. */
struct time_sample {
    double *value; /* [n] kept, in order, in the caller's unit */
    size_t n;
    uint64_t every, skip; /* one in `every` is kept; the next `skip` are not */
};

/* -ENOMEM; time_sample_close is not needed then. */
int time_sample_open(struct time_sample *sample);
void time_sample_add(struct time_sample *sample, double value);
void time_sample_close(struct time_sample *sample);

#endif
