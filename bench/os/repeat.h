/*
 * Times a short operation: the median over batches, each so long that the time to read the clock is
 * negligible. Another program that takes the CPU for milliseconds disturbs only a few batches.
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
    uint64_t slice_ns;         /* time to spend; set by the caller */
    unsigned nbatches;         /* timed so far; 0 during the warm-up */
    uint64_t items;            /* operations in the timed batches */
    double us[REPEAT_BATCHES]; /* per operation */
};

/* Does the operation `n` times and returns the ns that it took on clock_now_ns; 0: it failed. */
typedef uint64_t repeat_batch(void *arg, uint64_t n);

/*
 * Median us per operation; NaN if no timed batch succeeded. The first quarter of slice_ns is the
 * warm-up: it is not timed and finds how many operations make a batch.
 */
double repeat_time(struct repeat *repeat, repeat_batch *batch, void *arg);

/* Memory that a member works on between two switches: it increments a word in each cache line. */
enum { WORKING_SETS = 4, WORKING_SET_MOST = 4 << 20, WORKING_SET_LINE = 8 /* words */ };

/* In bytes. */
extern const size_t working_set_sizes[WORKING_SETS];

/* Choices of an option: "all", then working_set_sizes. NULL-terminated. */
extern const char *const working_set_names[];

static inline void working_set_go_over(uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i += WORKING_SET_LINE)
        ((volatile uint64_t *)set)[i]++;
}

/* True if the word in each line was incremented `times` times. */
static inline bool working_set_holds(const uint64_t *set, size_t words, uint64_t times)
{
    bool right = true;
    for (size_t i = 0; i < words; i += WORKING_SET_LINE)
        right &= set[i] == times;
    return right;
}

#endif
