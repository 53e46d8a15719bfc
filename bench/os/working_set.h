/*
 * The memory that somebody works on between two switches or moves: a word in each line is raised.
 */
#ifndef CONTEND_BENCH_OS_WORKING_SET_H
#define CONTEND_BENCH_OS_WORKING_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
