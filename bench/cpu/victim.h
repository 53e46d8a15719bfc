/*
 * Victims of cache_thrash: work whose speed depends on what a cache still holds.
 *
 *   l1    chase over half of the L1
 *   l2    chase over half of the L2
 *   l3    chase over a part of the L3: the caller chooses the size, see victim_range
 *
 * A chase (kernels/cpu/chase.h) has one load in flight and returns to a line only after a whole
 * lap. So evicted lines and a higher memory latency both slow it down.
 *
 * Work comes in chunks that take well under a millisecond: an interruption then spoils one chunk,
 * not a whole iteration, which is a lap of the chase.
 */
#ifndef CONTEND_BENCH_CPU_VICTIM_H
#define CONTEND_BENCH_CPU_VICTIM_H

#include <stddef.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "harness/engine/contract/bench.h"
#include "kernels/cpu/chase.h"

enum { VICTIM_CHUNK_LOADS = 16 * CHASE_STEP /* 5 us in the L2, 150 us in memory */ };

enum victim_kind { VICTIM_L1, VICTIM_L2, VICTIM_L3, VICTIMS };

/* "l1", "l2", "l3", then "all" and NULL for options. */
extern const char *const victim_names[];

struct victim {
    enum victim_kind kind;
    const struct bench_ctx *ctx; /* borrowed */
    uint64_t seed;
    struct memory_block memory; /* all of its data */
    size_t bytes;               /* working set of an iteration */
    double chunks;              /* in an iteration */
    uint64_t lap;               /* chunks of a lap, rounded up */
    uint64_t done;              /* chunks since its size was set */
    struct chase_line *at;
    size_t lines;
};

/*
 * Bytes of a chase: half of the L1 or L2. In the L3: from twice the L2 (the set must not fit in
 * the L2), or half of the L3 if that is less, to half of the L3. Zeros if the cache, or for l3 also
 * the L2, is not reported.
 */
struct victim_range {
    uint64_t least, most;
};
struct victim_range victim_range(const struct bench_machine *machine, enum victim_kind kind);

/* Size in bytes of a cache of `level`, 0 if it is not reported. */
uint64_t victim_cache_bytes(const struct bench_machine *machine, int level);

/*
 * Maps the memory. `bytes` is the exact size of victim l3; with 0, memory is mapped for the most
 * and used for the least of victim_range. -ENOTSUP if the machine does not report the cache. Free
 * also after an error.
 */
int victim_init(struct victim *victim, enum victim_kind kind, uint64_t bytes,
                const struct bench_ctx *ctx);
void victim_free(struct victim *victim);

/* Writes a chase over `bytes` of its memory. Call it in the victim's thread: first touch places the
 * pages on that thread's NUMA node. */
void victim_resize(struct victim *victim, uint64_t bytes);

void victim_run_chunk(struct victim *victim);

/* Returns 0 if the data is what the chunks so far make of it; -EBADMSG with the difference. */
int victim_check(const struct victim *victim, struct err *err);

#endif
