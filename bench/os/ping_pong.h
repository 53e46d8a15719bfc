/*
 * A ball that two players of a pair of CPUs pass to and fro, by a pipe, a futex or sched_yield.
 * Each goes over a working set of its own while it has the ball.
 *
 *   rc = ping_pong_open(&ping_pong, sets, err);
 *   ping_pong_begin(ping_pong, PING_PONG_PIPE, words, slice_ns);
 *   rc = cpu_pair_run(&(struct cpu_pair){.play = ping_pong_play, .arg = ping_pong, ...}, err);
 *   ping_pong->round_trip_us ...
 *   ping_pong_close(ping_pong);
 */
#ifndef CONTEND_BENCH_OS_PING_PONG_H
#define CONTEND_BENCH_OS_PING_PONG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/os/repeat.h"
#include "harness/lib/base/err.h"

enum ping_pong_how { PING_PONG_PIPE, PING_PONG_FUTEX, PING_PONG_YIELD, PING_PONG_HOWS };

/* Seen by both players, also as processes. */
struct ping_pong {
    _Alignas(128) _Atomic uint32_t ball; /* whose turn it is */
    _Alignas(128) bool over;             /* written by who serves before the last pass */
    int pipes[2][2];                     /* [who writes] */
    enum ping_pong_how how;
    size_t words;      /* of a working set */
    uint64_t *sets[2]; /* private to a process */
    struct repeat repeat;
    double round_trip_us;
    uint64_t passes; /* of one player, the warm ones included */
    uint64_t yields; /* of who serves, in the timed trips: repeat.items */
    int failed[2];   /* -errno of a call */
    bool wrong[2];   /* a set that was not gone over as often as the ball was had */
};

/* In memory that processes share. The sets are the caller's. After an error ping_pong_close is
 * needed.
 */
int ping_pong_open(struct ping_pong **ping_pong, uint64_t *const sets[2], struct err *err);
void ping_pong_close(struct ping_pong *ping_pong);

void ping_pong_begin(struct ping_pong *ping_pong, enum ping_pong_how how, size_t words,
                     uint64_t slice_ns);

/* The part of player `who` of a pair of CPUs: `arg` is the ping-pong. */
void ping_pong_play(void *arg, unsigned who);

/* us that the calls of one pass and of the next ball take with nobody there. */
double ping_pong_time_calls(struct ping_pong *ping_pong, enum ping_pong_how how);

/* us that going over a set of so many words takes that has just been gone over. */
double ping_pong_time_set(struct ping_pong *ping_pong, size_t words);

#endif
