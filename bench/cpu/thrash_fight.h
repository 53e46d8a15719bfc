/*
 * One victim against aggressors: slices with and without aggressors, in pairs.
 *
 * A slice first settles for some laps of the victim, so that the victim has fetched all of its
 * lines again. With aggressors, it also settles until they have brought in two caches of data.
 * Settling takes settle_most_ns at most, but two laps at least. Then the slice measures for a lap;
 * its value is the median chunk. In slices without aggressors, they stay awake but idle.
 *
 * If the aggressor runs on the victim's own CPU, the scheduler lets them take turns, and slices
 * consist of whole turns (bench/cpu/turns.h). All times of the victim are then CPU time. A
 * turn does not count if the aggressor did not run before it. In slices without memory pressure, a
 * turn does not count if another program ran before it.
 *
 * In rank 0 of a team call fight_run_victim or fight_run_victim_in_turns, in the other members
 * fight_run_aggressor.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_FIGHT_H
#define CONTEND_BENCH_CPU_THRASH_FIGHT_H

#include <stdint.h>
#include <time.h>

#include "bench/cpu/aggressor.h"
#include "bench/cpu/turns.h"
#include "bench/cpu/victim.h"

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
