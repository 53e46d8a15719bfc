#include "harness/engine/worker/meeting.h"

#include <assert.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/futex.h"

static const uint64_t spin_ns = 20000;

static void await(struct meeting *meeting, uint32_t number)
{
    uint64_t end_ns = clock_now_ns() + spin_ns;
    while (atomic_load_explicit(&meeting->held, memory_order_acquire) == number)
        if (clock_now_ns() > end_ns)
            futex_wait_while(&meeting->held, number);
}

static int meeting_gather(struct peers *peers, const void *mine, void *all, size_t bytes,
                          struct err *err)
{
    (void)err;
    struct meeting_seat *seat = peers->impl;
    struct meeting *meeting = seat->meeting;
    uint32_t number = seat->next++;
    if (bytes)
        memcpy(meeting->block[number % 2][peers->rank], mine, bytes);
    if (meeting->relay) {
        meeting->bytes = (uint32_t)bytes;
        atomic_store(&meeting->posted, number + 1);
    }
    atomic_store(&meeting->came[peers->rank], number + 1);
    if (meeting->relay) {
        seat->wake(seat->wake_arg);
    } else if (atomic_fetch_add(&meeting->arrived, 1) + 1 == peers->size) {
        atomic_store(&meeting->arrived, 0);
        futex_set(&meeting->held, number + 1);
    }
    await(meeting, number);
    for (unsigned r = 0; bytes && r < peers->size; r++)
        memcpy((char *)all + r * bytes, meeting->block[number % 2][r], bytes);
    return 0;
}

void meeting_sit(struct meeting *meeting, struct meeting_seat *seat, unsigned rank, unsigned size,
                 struct peers *peers)
{
    assert(rank < size && size <= MEETING_RANKS);
    seat->meeting = meeting;
    *peers = (struct peers){.rank = rank, .size = size, .gather = meeting_gather, .impl = seat};
}

/* `held` first: seen in the other order, a rank that is just released would seem to wait. */
bool meeting_waits(const struct meeting *meeting, unsigned rank)
{
    uint32_t held = atomic_load(&meeting->held);
    return atomic_load(&meeting->came[rank]) == held + 1;
}

uint32_t meeting_posted(const struct meeting *meeting, uint32_t *bytes)
{
    uint32_t posted = atomic_load(&meeting->posted);
    *bytes = meeting->bytes;
    return posted;
}

unsigned char *meeting_block(struct meeting *meeting, unsigned rank)
{
    return meeting->block[atomic_load(&meeting->held) % 2][rank];
}

void meeting_release(struct meeting *meeting)
{
    futex_set(&meeting->held, atomic_load(&meeting->held) + 1);
}
