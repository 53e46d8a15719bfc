#include "harness/engine/worker/barrier.h"

#include <assert.h>
#include <string.h>

#include "harness/lib/sys/clock.h"

static const uint64_t spin_ns = 20000;

static void await(struct barrier *barrier, uint32_t number)
{
    uint64_t end_ns = clock_now_ns() + spin_ns;
    while (atomic_load_explicit(&barrier->completed, memory_order_acquire) == number)
        if (clock_now_ns() > end_ns)
            futex_wait_while(&barrier->completed, number);
}

static int barrier_gather(struct peers *peers, const void *mine, void *all, size_t bytes,
                          struct err *err)
{
    (void)err;
    struct barrier_rank *view = peers->impl;
    struct barrier *barrier = view->barrier;
    uint32_t number = view->next++;
    if (bytes)
        memcpy(barrier->block[number % 2][peers->rank], mine, bytes);
    if (barrier->relay) {
        barrier->bytes = (uint32_t)bytes;
        atomic_store(&barrier->posted, number + 1);
    }
    atomic_store(&barrier->entered[peers->rank], number + 1);
    if (barrier->relay) {
        view->wake(view->wake_arg);
    } else if (atomic_fetch_add(&barrier->arrived, 1) + 1 == peers->size) {
        atomic_store(&barrier->arrived, 0);
        futex_set(&barrier->completed, number + 1);
    }
    await(barrier, number);
    for (unsigned r = 0; bytes && r < peers->size; r++)
        memcpy((char *)all + r * bytes, barrier->block[number % 2][r], bytes);
    return 0;
}

void barrier_join(struct barrier *barrier, struct barrier_rank *view, unsigned rank, unsigned size,
                  struct peers *peers)
{
    assert(rank < size && size <= BARRIER_RANKS);
    view->barrier = barrier;
    *peers = (struct peers){.rank = rank, .size = size, .gather = barrier_gather, .impl = view};
}

/* Reads `completed` first: in the other order, a rank that was just released could seem to wait. */
bool barrier_waits(const struct barrier *barrier, unsigned rank)
{
    uint32_t completed = atomic_load(&barrier->completed);
    return atomic_load(&barrier->entered[rank]) == completed + 1;
}

uint32_t barrier_posted(const struct barrier *barrier, uint32_t *bytes)
{
    uint32_t posted = atomic_load(&barrier->posted);
    *bytes = barrier->bytes < PEERS_BLOCK_MAX ? barrier->bytes : PEERS_BLOCK_MAX;
    return posted;
}

unsigned char *barrier_block(struct barrier *barrier, unsigned rank)
{
    return barrier->block[atomic_load(&barrier->completed) % 2][rank];
}

void barrier_release(struct barrier *barrier)
{
    futex_set(&barrier->completed, atomic_load(&barrier->completed) + 1);
}
