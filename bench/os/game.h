/*
 * A ball that two players of a pair of CPUs pass to and fro, by a pipe, a futex or sched_yield.
 * Each goes over a working set of its own while it has the ball.
 *
 *   rc = game_open(&game, sets, err);
 *   game_begin(game, GAME_PIPE, words, slice_ns);
 *   rc = cpu_pair_run(&(struct pair of CPUs){.play = game_play, .arg = game, ...}, err);
 *   game->round_trip_us ...
 *   game_close(game);
 */
#ifndef CONTEND_BENCH_OS_GAME_H
#define CONTEND_BENCH_OS_GAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/os/repeat.h"
#include "harness/lib/base/err.h"

enum game_how { GAME_PIPE, GAME_FUTEX, GAME_YIELD, GAME_HOWS };

/* What both players see, also as processes. */
struct game {
    _Alignas(128) _Atomic uint32_t ball; /* whose turn it is */
    _Alignas(128) bool over;             /* written by who serves before the last pass */
    int pipes[2][2];                     /* [who writes] */
    enum game_how how;
    size_t words;      /* of a working set */
    uint64_t *sets[2]; /* private to a process */
    struct repeat repeat;
    double round_trip_us;
    uint64_t passes; /* of one player, the warm ones included */
    uint64_t yields; /* of who serves, in the timed trips: repeat.items */
    int failed[2];   /* -errno of a call */
    bool wrong[2];   /* a set that was not gone over as often as the ball was had */
};

/* In memory that processes share. The sets are the caller's. After an error game_close is needed.
 */
int game_open(struct game **game, uint64_t *const sets[2], struct err *err);
void game_close(struct game *game);

void game_begin(struct game *game, enum game_how how, size_t words, uint64_t slice_ns);

/* What player `who` of a pair of CPUs does: `arg` is the game. */
void game_play(void *arg, unsigned who);

/* us that the calls of one pass and of the next ball take with nobody there. */
double game_time_calls(struct game *game, enum game_how how);

/* us that going over a set of so many words takes that has just been gone over. */
double game_time_set(struct game *game, size_t words);

#endif
