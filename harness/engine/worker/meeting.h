/*
 * Where the workers of one role meet: shared memory behind struct peers.
 *
 * The last rank to come releases the others. On several nodes (relay) each node has one rank: it
 * posts its block and wakes its parent, which gathers the blocks of all nodes and then releases it
 * with meeting_release.
 */
#ifndef CONTEND_ENGINE_WORKER_MEETING_H
#define CONTEND_ENGINE_WORKER_MEETING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/contract/peers.h"

enum { MEETING_RANKS = 1024 };

/* Zeroed = empty. Sparse: pages of ranks that do not exist are never touched. */
struct meeting {
    uint32_t relay;
    _Atomic uint32_t arrived;             /* ranks that wait in the meeting under way */
    _Atomic uint32_t held;                /* futex: how many have been held */
    _Atomic uint32_t posted;              /* relay: meetings that our rank has asked for */
    uint32_t bytes;                       /* of a block in it */
    _Atomic uint32_t came[MEETING_RANKS]; /* to so many meetings, by rank: who is missing? */
    /* Two, in turn: a slow rank may still read the last meeting's while the next one fills up. */
    unsigned char block[2][MEETING_RANKS][PEERS_BLOCK_MAX];
};

/* A rank's view of it. */
struct meeting_seat {
    struct meeting *meeting;
    uint32_t next;           /* of the meeting that this rank attends next */
    void (*wake)(void *arg); /* relay: tells the parent that a block is posted */
    void *wake_arg;
};

/* Makes *peers the rank's way to the others. `size` is at most MEETING_RANKS. */
void meeting_sit(struct meeting *meeting, struct meeting_seat *seat, unsigned rank, unsigned size,
                 struct peers *peers);

/* Parent: true while the rank waits for others in a meeting. */
bool meeting_waits(const struct meeting *meeting, unsigned rank);

/*
 * Parent, relay: blocks, the rank's own and those of others, go to meeting_block. Counted are the
 * meetings that it has asked for; `bytes` is of a block in the last of them.
 */
uint32_t meeting_posted(const struct meeting *meeting, uint32_t *bytes);
unsigned char *meeting_block(struct meeting *meeting, unsigned rank);
void meeting_release(struct meeting *meeting);

#endif
