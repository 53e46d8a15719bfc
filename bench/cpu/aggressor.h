/*
 * Aggressors of cache_thrash: one a CPU, with memory of its own (kernels/cpu/walk.h).
 *
 *   l1      stays in half of its own L1: a busy core and no more, the negative control
 *   stream  changes line after line of its area, round and round
 *   random  changes random lines of that area
 *
 * An area is twice the last-level cache, at most 1 GiB, and all of them a quarter of the memory
 * that can be taken.
 */
#ifndef CONTEND_BENCH_CPU_AGGRESSOR_H
#define CONTEND_BENCH_CPU_AGGRESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "harness/contract/bench.h"
#include "kernels/cpu/walk.h"

enum aggressor_kind { AGGRESSOR_L1, AGGRESSOR_STREAM, AGGRESSOR_RANDOM, AGGRESSOR_KINDS };

/* "l1", "stream", "random", then "all" and NULL for options. */
extern const char *const aggressor_names[];

struct aggressor_sizes {
    size_t area_bytes, l1_bytes;
};

/* Zeroed = none. */
struct aggressor {
    _Alignas(128) _Atomic uint64_t touched; /* lines so far, for others to read; 128: two lines */
    struct memory_block memory;             /* the area, and l1's piece behind it */
    struct walk walks[AGGRESSOR_KINDS];     /* stream and random share the area */
    uint64_t found[AGGRESSOR_KINDS];        /* by aggressor_sum */
};

/* For at most n at once, behind a cache of llc_bytes. */
struct aggressor_sizes aggressor_choose_sizes(const struct bench_machine *machine,
                                              uint64_t llc_bytes, unsigned n);

/* Also fine for one that is mapped. */
int aggressor_map(struct aggressor *aggressor, const struct aggressor_sizes *sizes,
                  struct err *err);
void aggressor_free(struct aggressor *aggressor);

/* First touch: call it in the thread that will press. Nothing where it is not mapped. */
void aggressor_fill(struct aggressor *aggressor, const struct aggressor_sizes *sizes);

/* Some microseconds of pressing, or of staying awake without memory. */
void aggressor_press(struct aggressor *aggressor, enum aggressor_kind kind);
void aggressor_rest(struct aggressor *aggressor);

/* Reads all of its memory, and notes what it finds. Also evicts what the caller had in caches. */
void aggressor_sum(struct aggressor *aggressor);

/* -EBADMSG where the last aggressor_sum did not find every touch. */
int aggressor_check(const struct aggressor *aggressor, unsigned os_cpu, struct err *err);

#endif
