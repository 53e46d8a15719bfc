/*
 * A barrier for the workers of one role, in shared memory: the implementation of struct peers.
 *
 * The last rank to arrive releases the others. In a job (relay) each parent has one rank: the rank
 * posts its block and wakes its parent, which gathers the blocks of all ranks and then releases the
 * rank with barrier_release.
 */
#ifndef CONTEND_ENGINE_WORKER_BARRIER_H
#define CONTEND_ENGINE_WORKER_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/engine/contract/peers.h"

enum { BARRIER_RANKS = 1024 };

/* Zeroed = empty. Sparse: pages of ranks that do not exist are never touched. */
struct barrier {
    uint32_t relay;
    _Atomic uint32_t arrived;   /* ranks that wait in the current barrier */
    _Atomic uint32_t completed; /* futex: number of completed barriers */
    _Atomic uint32_t posted;    /* relay: barriers for which our rank posted its block */
    uint32_t bytes;             /* relay: block size in the last of these */
    _Atomic uint32_t entered[BARRIER_RANKS]; /* by rank: barriers that it has entered */
    /* Two, alternating: a slow rank may still read the blocks of one while the next fills. */
    unsigned char block[2][BARRIER_RANKS][PEERS_BLOCK_MAX];
};

/* A rank's view of the barrier. */
struct barrier_rank {
    struct barrier *barrier;
    uint32_t next;           /* number of the barrier that this rank enters next */
    void (*wake)(void *arg); /* relay: tells the parent that a block is posted */
    void *wake_arg;
};

/* Fills *peers for the rank; *view stays in use. `size` is at most BARRIER_RANKS. */
void barrier_join(struct barrier *barrier, struct barrier_rank *view, unsigned rank, unsigned size,
                  struct peers *peers);

/* Parent: true while the rank waits for other ranks in a barrier. */
bool barrier_waits(const struct barrier *barrier, unsigned rank);

/*
 * For the parent, with relay. barrier_posted returns for how many barriers our rank has posted its
 * block; *bytes is the block size in the last one. barrier_block is where a rank's block is, our
 * own or one to be filled in before barrier_release.
 */
uint32_t barrier_posted(const struct barrier *barrier, uint32_t *bytes);
unsigned char *barrier_block(struct barrier *barrier, unsigned rank);
void barrier_release(struct barrier *barrier);

#endif
