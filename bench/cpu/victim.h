/*
 * Victims of cache_thrash: work whose speed depends on what a cache still holds.
 *
 *   l1    chase over half of the L1
 *   l2    chase over half of the L2
 *   l3    chase over a part of the L3: the caller finds out how much, see victim_range
 *
 * A chase (kernels/cpu/chase.h) has one load in flight and comes back late to every line, so it
 * feels both a line that was pushed out and a longer way to memory.
 *
 * Work comes in chunks that take well under a millisecond, so that an interruption spoils one of
 * them and not a whole iteration, which is a lap of the chase.
 */
#ifndef CONTEND_BENCH_CPU_VICTIM_H
#define CONTEND_BENCH_CPU_VICTIM_H

#include <stddef.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "harness/contract/bench.h"
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
    size_t bytes;               /* that an iteration reads and writes again and again */
    double chunks;              /* an iteration */
    uint64_t lap;               /* chunks of a lap, the last one begun */
    uint64_t done;              /* chunks since its size was set */
    struct chase_line *at;
    size_t lines;
};

/*
 * Bytes of a chase: half of the L1 or L2. In the L3, which it has to be larger than the L2 to meet,
 * from twice the L2, or half of the L3 where that is less, to half of the L3. Zeros where the cache
 * is not reported.
 */
struct victim_range {
    uint64_t least, most;
};
struct victim_range victim_range(const struct bench_machine *machine, enum victim_kind kind);

/* Size in bytes of a cache of `level`, 0 where it is not reported. */
uint64_t victim_cache_bytes(const struct bench_machine *machine, int level);

/*
 * Maps the memory. `bytes` is of l3: exactly so many, or 0 for the range, of which it takes the
 * least. -ENOTSUP where the machine reports no such cache. Free also after an error.
 */
int victim_init(struct victim *victim, enum victim_kind kind, uint64_t bytes,
                const struct bench_ctx *ctx);
void victim_free(struct victim *victim);

/* Writes a chase over so many bytes, within its memory, in the thread that runs it: pages lie
 * there. */
void victim_resize(struct victim *victim, uint64_t bytes);

void victim_run_chunk(struct victim *victim);

/* Is the data what that many chunks make of it? -EBADMSG with what differs. */
int victim_check(const struct victim *victim, struct err *err);

#endif
