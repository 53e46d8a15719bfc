/*
 * One victim against aggressors: slices with and without them, in pairs.
 *
 * A slice settles for some laps of the victim, so that behind aggressors it has fetched all of its
 * lines again, and with aggressors also until they have brought two caches full; for settle_most_ns
 * at most, but for two laps at least. Then it measures for a lap. Its value is the median chunk.
 * Without, the aggressors stay awake but idle.
 *
 * Where the aggressor has the victim's own CPU, the scheduler lets them take turns, and slices are
 * of whole turns (bench/cpu/turns.h). All times of the victim are then CPU time. A turn does not
 * count if the aggressor did not run in front of it, or, where it was not to touch memory, somebody
 * else did.
 *
 * In rank 0 of a team call fight_suffer or fight_take_turns, in the other members fight_press.
 */
#ifndef CONTEND_BENCH_CPU_FIGHT_H
#define CONTEND_BENCH_CPU_FIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "bench/cpu/aggressor.h"
#include "bench/cpu/turns.h"
#include "bench/cpu/victim.h"

enum {
    FIGHT_PAIRS_MIN = 3,
    FIGHT_PAIRS_MAX = 400,
    FIGHT_LAPS = 16,     /* of the victim in a pair, with and without */
    FIGHT_COLD_LAPS = 8, /* as long as so many from memory, with aggressors that push all out */
    FIGHT_CACHES_ENOUGH = 2,
    FIGHT_TURNS_NS = 150000000 /* of two slices in turns, at about 4 ms a turn, and the first one */
};

struct fight_pair {
    double with_ns, without_ns; /* a chunk, the median */
    double cpu_ns;              /* a chunk with them: the mean of all, CPU time */
    double touched_bytes;       /* a second, by all aggressors together, with them */
    /* Last-level caches full that they brought: before it was measured, and in each lap of it. */
    double settle_caches, lap_caches;
    unsigned least_settled, least_measured; /* laps, of the two slices */
    /* In turns: a warm chunk, and what follows a switch from who touches memory and who does not.
     */
    double warm_ns;
    struct turn with, without;
};

struct fight {
    _Alignas(128) _Atomic int order;                 /* alone on the lines that all poll */
    _Alignas(128) _Atomic clockid_t aggressor_clock; /* CPU time of the one that runs; 0: not yet */
    double *chunk_ns;                                /* of a slice */
    uint64_t llc_bytes, settle_most_ns;
    /* The current fight; set before its threads run. */
    struct victim *victim;
    double warm_ns; /* in turns: a chunk from the cache, about */
    enum aggressor_kind kind;
    unsigned n;
    struct aggressor *const *aggressors; /* [n] */
    uint64_t area_bytes;                 /* of each */
    uint64_t seed, end_ns;               /* on clock_now_ns: no pair begins behind it */
    unsigned npairs;
    struct fight_pair pairs[FIGHT_PAIRS_MAX];
};

/* A fight keeps the times of chunks in memory of its own. -ENOMEM only. */
int fight_init(struct fight *fight, struct err *err);
void fight_free(struct fight *fight);

/* Before its threads run. */
void fight_begin(struct fight *fight);

/* As many pairs as begin in time, FIGHT_PAIRS_MIN at least. */
void fight_suffer(struct fight *fight);

/* The same with one aggressor on the victim's CPU, one pair at least. */
void fight_take_turns(struct fight *fight);

/* Until fight_suffer is done. */
void fight_press(struct fight *fight, struct aggressor *aggressor);

/* Runs a lap of the victim alone; nanoseconds by its median chunk, so that interruptions of it do
 * not count. */
double fight_lap_ns(struct fight *fight);

#endif
