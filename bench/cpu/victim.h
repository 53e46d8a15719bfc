/*
 * Victims of cache_thrash: work whose speed depends on what a cache still holds.
 *
 *   l2    chase over half of the L2
 *   l3    chase over a share of the L3, see victim_l3_bytes
 *   prep  the preprocessing of `pipeline` (kernels/prep/prep.h), one block of 64 rows after the
 * other of a batch of 4096 x 512, on one thread
 *
 * A chase (kernels/cpu/chase.h) has one load in flight and comes back late to every line, so it
 * feels both a line that was pushed out and a longer way to memory.
 *
 * Work comes in chunks that take well under a millisecond or a block, so that an interruption
 * spoils one of them and not a whole iteration; an iteration is a lap of the chase, or one block.
 */
#ifndef CONTEND_BENCH_CPU_VICTIM_H
#define CONTEND_BENCH_CPU_VICTIM_H

#include <stddef.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "harness/core/bench.h"
#include "kernels/cpu/chase.h"
#include "kernels/prep/prep.h"

enum victim_kind { VICTIM_L2, VICTIM_L3, VICTIM_PREP, VICTIM_KINDS };

/* "l2", "l3", "prep", NULL. */
extern const char *const victim_names[];

struct victim {
    enum victim_kind kind;
    uint64_t seed;
    struct memory_block memory; /* all of its data */
    size_t bytes;               /* that an iteration reads and writes again and again */
    double chunks;              /* an iteration */
    uint64_t done;              /* chunks so far */
    /* Chases. */
    struct chase_line *at;
    size_t lines;
    /* prep: of one block, and the arrays of the whole batch. */
    struct prep_params prep;
    float *source;
    struct prep_out out;
};

/*
 * Bytes of a chase in the L3: the cache's size over the cores that share one, at most 8 times the
 * L2, since the L3 that a virtual machine reports may be the host's and full of its other guests;
 * at least twice the L2. 0 where no cache below the L2 is reported.
 */
uint64_t victim_l3_bytes(const struct bench_machine *machine);

/* Size in bytes of a cache of `level`, 0 where it is not reported. */
uint64_t victim_cache_bytes(const struct bench_machine *machine, int level);

/* Maps the memory. -ENOTSUP where the machine reports no such cache. Free also after an error. */
int victim_init(struct victim *victim, enum victim_kind kind, const struct bench_ctx *ctx);
void victim_free(struct victim *victim);

/* Writes the data: call it in the thread that will run the chunks, so that pages lie there. */
void victim_fill(struct victim *victim);

void victim_run_chunk(struct victim *victim);

/* Is the data what that many chunks make of it? -EBADMSG with what differs. */
int victim_check(struct victim *victim, struct err *err);

#endif
