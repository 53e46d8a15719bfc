/*
 * One victim against aggressors: slices with and without aggressors, in pairs.
 *
 * A slice first settles for some laps of the victim, so that the victim has fetched all of its
 * lines again. With aggressors, it also settles until they have brought in two caches of data.
 * Settling takes settle_most_ns at most, but two laps at least. Then the slice measures for a lap;
 * its value is the median chunk. In slices without aggressors, they stay awake but idle.
 *
 * If the aggressor runs on the victim's own CPU, the scheduler lets them take turns, and slices
 * consist of whole turns (bench/cpu/thrash_fight.h). All times of the victim are then CPU time. A
 * turn does not count if the aggressor did not run before it. In slices without memory pressure, a
 * turn does not count if another program ran before it.
 *
 * In rank 0 of a team call fight_run_victim or fight_run_victim_in_turns, in the other members
 * fight_run_aggressor.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_FIGHT_H
#define CONTEND_BENCH_CPU_THRASH_FIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "bench/common/memory.h"
#include "harness/engine/contract/bench.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/walk.h"

/*
 * The cost of a switch to a thread that shares a CPU, from the CPU times of its chunks of work.
 * After a switch the first chunks take longer than warm chunks, until the thread's working set is
 * back in its cache. Pure.
 *
 *   struct turns turns = {.warm_ns = warm_ns, .lap = 8};
 *   while (turns.n < TURNS_MOST)
 *       turns_add(&turns, ns, SWITCHED_NOT); // CPU time of a chunk
 *   turns_sum(&turns).refill_ns ...
 *
 * A turn begins with a chunk in which another thread had the CPU, and ends before the next such
 * chunk. Chunks before the first switch or after the last switch do not count. Turns that begin
 * with SWITCHED_BY_OTHERS (another program had the CPU) do not count either.
 */
enum { TURNS_MOST = 4 };
enum switched { SWITCHED_NOT, SWITCHED, SWITCHED_BY_OTHERS };

struct turns {
    double warm_ns; /* time of a chunk from the cache */
    double lap;     /* chunks of a lap over the working set; < 1 for a small set */
    unsigned n;     /* whole turns so far */
    struct turn {
        double refill_ns;   /* time beyond that of warm chunks, up to the first warm chunk */
        double first_ns;    /* time beyond a warm chunk, per chunk of the first lap */
        double ns, chunks;  /* CPU time of the turn, and its chunks */
        bool warm;          /* the turn lasted until a chunk was warm */
    } turn[TURNS_MOST + 1]; /* turn[n] is the current turn */
    bool begun;
};

void turns_add(struct turns *turns, double ns, enum switched switched);

/* Medians over whole turns, NaN without a turn; warm: at least half of the turns were. */
struct turn turns_sum(const struct turns *turns);

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

/* Returns 0 if the data is what the chunks so far make of it; -EBADMSG with the difference. */
int victim_check(const struct victim *victim, struct err *err);

enum {
    FIGHT_PAIRS_MIN = 3,
    FIGHT_PAIRS_MAX = 400,
    FIGHT_LAPS = 16,           /* of the victim in a pair: both slices together */
    FIGHT_COLD_LAPS = 8,       /* of FIGHT_LAPS, from memory if the aggressors evict the victim */
    FIGHT_CACHES_ENOUGH = 2,   /* caches of data that evict the victim */
    FIGHT_TURNS_NS = 150000000 /* two slices in turns with settling, at about 4 ms a turn */
};

struct fight_pair {
    double with_ns, without_ns; /* median chunk with and without aggressors */
    double cpu_ns;              /* mean chunk with aggressors, CPU time */
    double touched_bytes;       /* a second, by all aggressors together */
    /* Data brought in, in last-level caches: while settling, and in each measured lap. */
    double settle_caches, lap_caches;
    unsigned least_settled, least_measured; /* laps: the smaller number of the two slices */
    /* In turns: a warm chunk, and turns after an aggressor with and without memory pressure. */
    double warm_ns;
    struct turn with, without;
};

struct fight {
    _Alignas(128) _Atomic int order;                 /* has its own lines, since all poll it */
    _Alignas(128) _Atomic clockid_t aggressor_clock; /* its CPU time, in turns; 0: not yet known */
    double *chunk_ns;                                /* scratch: the chunks of a slice */
    uint64_t llc_bytes, settle_most_ns;
    /* The current fight; set before its threads run. */
    struct victim *victim;
    double warm_ns; /* in turns: about the time of a chunk from the cache */
    enum aggressor_kind kind;
    unsigned n;
    struct aggressor *const *aggressors; /* [n] */
    uint64_t area_bytes;                 /* of each */
    uint64_t seed, end_ns;               /* end_ns: no pair begins later, on clock_now_ns */
    unsigned npairs;
    struct fight_pair pairs[FIGHT_PAIRS_MAX];
};

/* Allocates chunk_ns. Returns 0 or -ENOMEM. */
int fight_init(struct fight *fight, struct err *err);
void fight_free(struct fight *fight);

/* Call it before the threads of the fight run. */
void fight_begin(struct fight *fight);

/* Measures as many pairs as can begin before end_ns, at least FIGHT_PAIRS_MIN. */
void fight_run_victim(struct fight *fight);

/* The same with one aggressor on the victim's CPU, and at least one pair. */
void fight_run_victim_in_turns(struct fight *fight);

/* Returns when fight_run_victim or fight_run_victim_in_turns is done. */
void fight_run_aggressor(struct fight *fight, struct aggressor *aggressor);

/* Runs a lap of the victim alone. Returns its median chunk x chunks in ns, so that interruptions
 * do not count. */
double fight_lap_ns(struct fight *fight);

#endif
