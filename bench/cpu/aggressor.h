/*
 * Aggressors of cache_thrash: one per CPU, each with its own memory (kernels/cpu/walk.h).
 *
 *   l1      stays in half of its own L1: a busy core and no more, the negative control
 *   stream  changes the lines of its area in order, again and again
 *   random  changes random lines of its area
 *
 * An area is twice the last-level cache, at most 1 GiB. All areas together take at most a quarter
 * of the available memory.
 */
#ifndef CONTEND_BENCH_CPU_AGGRESSOR_H
#define CONTEND_BENCH_CPU_AGGRESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "harness/engine/contract/bench.h"
#include "kernels/cpu/walk.h"

enum aggressor_kind { AGGRESSOR_L1, AGGRESSOR_STREAM, AGGRESSOR_RANDOM, AGGRESSOR_KINDS };

/* "l1", "stream", "random", then "all" and NULL for options. */
extern const char *const aggressor_names[];

struct aggressor_sizes {
    size_t area_bytes, l1_bytes;
};

/* Zeroed = none. */
struct aggressor {
    _Alignas(128) _Atomic uint64_t touched; /* lines so far; other threads read it */
    struct memory_block memory;             /* the area, then the lines of l1 */
    struct walk walks[AGGRESSOR_KINDS];     /* stream and random share the area */
    uint64_t found[AGGRESSOR_KINDS];        /* touches that aggressor_sum found in memory */
};

/* Sizes for at most n aggressors at once and a last-level cache of llc_bytes. */
struct aggressor_sizes aggressor_choose_sizes(const struct bench_machine *machine,
                                              uint64_t llc_bytes, unsigned n);

/* Maps the memory; returns 0 or -errno. Does nothing if it is mapped already. */
int aggressor_map(struct aggressor *aggressor, const struct aggressor_sizes *sizes,
                  struct err *err);
void aggressor_free(struct aggressor *aggressor);

/* First touch: call it in the thread that will touch it. Does nothing if no memory is mapped. */
void aggressor_fill(struct aggressor *aggressor, const struct aggressor_sizes *sizes);

/* Touches memory, or stays awake without touching any, for some microseconds. */
void aggressor_touch(struct aggressor *aggressor, enum aggressor_kind kind);
void aggressor_idle(struct aggressor *aggressor);

/* Counts the touches in all of its memory. This also evicts the caller's data from the caches. */
void aggressor_sum(struct aggressor *aggressor);

/* -EBADMSG if the last aggressor_sum did not find every touch. */
int aggressor_check(const struct aggressor *aggressor, unsigned os_cpu, struct err *err);

#endif
