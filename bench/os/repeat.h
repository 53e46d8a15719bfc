/*
 * How long something short takes that is done again and again: in batches so long that the clock is
 * nothing of them, the median of the batches. Who else takes the CPU for milliseconds is in few.
 *
 *   struct repeat repeat = {.slice_ns = 20000000};
 *   us = repeat_time(&repeat, batch, arg);      // batch(arg, n) does it n times
 */
#ifndef CONTEND_BENCH_OS_REPEAT_H
#define CONTEND_BENCH_OS_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPEAT_BATCHES = 1024 };

struct repeat {
    uint64_t slice_ns;         /* to spend: the caller's */
    unsigned nbatches;         /* timed so far; 0 while batches only find how many make one */
    uint64_t items;            /* in those */
    double us[REPEAT_BATCHES]; /* an item */
};

/* Does it `n` times and returns what that took, on clock_now_ns; 0: it cannot go on. */
typedef uint64_t repeat_batch(void *arg, uint64_t n);

/* us an item; NaN where the first batches could not go on. The first quarter is not timed. */
double repeat_time(struct repeat *repeat, repeat_batch *batch, void *arg);

/* The memory that somebody works on between two switches: a word in each line is raised.
 */
enum { WORKING_SETS = 4, WORKING_SET_MOST = 4 << 20, WORKING_SET_LINE = 8 /* words */ };

/* In bytes. */
extern const size_t working_set_sizes[WORKING_SETS];

/* For options: "all", and those above. */
extern const char *const working_set_names[];

static inline void working_set_go_over(uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i += WORKING_SET_LINE)
        ((volatile uint64_t *)set)[i]++;
}

/* Whether each line was raised so often. */
static inline bool working_set_holds(const uint64_t *set, size_t words, uint64_t times)
{
    bool right = true;
    for (size_t i = 0; i < words; i += WORKING_SET_LINE)
        right &= set[i] == times;
    return right;
}

#endif
