/*
 * Where the workers of one role meet: shared memory behind struct peers.
 *
 * The last rank to come releases the others. On several nodes (relay) each node has one rank: it
 * posts its block and wakes its parent, which gathers the blocks of all nodes and then releases it
 * with barrier_release.
 */
#ifndef CONTEND_ENGINE_WORKER_BARRIER_H
#define CONTEND_ENGINE_WORKER_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/contract/peers.h"

enum { BARRIER_RANKS = 1024 };

/* Zeroed = empty. Sparse: pages of ranks that do not exist are never touched. */
struct barrier {
    uint32_t relay;
    _Atomic uint32_t arrived;             /* ranks that wait in the barrier under way */
    _Atomic uint32_t held;                /* futex: how many have been held */
    _Atomic uint32_t posted;              /* relay: barriers that our rank has asked for */
    uint32_t bytes;                       /* of a block in it */
    _Atomic uint32_t came[BARRIER_RANKS]; /* to so many barriers, by rank: who is missing? */
    /* Two, in turn: a slow rank may still read the last barrier's while the next one fills up. */
    unsigned char block[2][BARRIER_RANKS][PEERS_BLOCK_MAX];
};

/* A rank's view of it. */
struct barrier_rank {
    struct barrier *barrier;
    uint32_t next;           /* of the barrier that this rank attends next */
    void (*wake)(void *arg); /* relay: tells the parent that a block is posted */
    void *wake_arg;
};

/* Makes *peers the rank's way to the others. `size` is at most BARRIER_RANKS. */
void barrier_join(struct barrier *barrier, struct barrier_rank *seat, unsigned rank, unsigned size,
                  struct peers *peers);

/* Parent: true while the rank waits for others in a barrier. */
bool barrier_waits(const struct barrier *barrier, unsigned rank);

/*
 * Parent, relay: blocks, the rank's own and those of others, go to barrier_block. Counted are the
 * barriers that it has asked for; `bytes` is of a block in the last of them.
 */
uint32_t barrier_posted(const struct barrier *barrier, uint32_t *bytes);
unsigned char *barrier_block(struct barrier *barrier, unsigned rank);
void barrier_release(struct barrier *barrier);

#endif
