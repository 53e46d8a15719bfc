#include "harness/worker/meeting.h"

#include <assert.h>
#include <string.h>

#include "harness/sys/clock.h"
#include "harness/sys/futex.h"

static const uint64_t spin_ns = 20000;

static void await(struct board *board, uint32_t meeting)
{
    uint64_t end_ns = clock_now_ns() + spin_ns;
    while (atomic_load_explicit(&board->meeting, memory_order_acquire) == meeting)
        if (clock_now_ns() > end_ns)
            futex_wait_while(&board->meeting, meeting);
}

static int board_gather(struct peers *peers, const void *mine, void *all, size_t bytes,
                        struct err *err)
{
    (void)err;
    struct board_seat *seat = peers->impl;
    struct board *board = seat->board;
    uint32_t meeting = seat->meeting++;
    if (bytes)
        memcpy(board->block[meeting % 2][peers->rank], mine, bytes);
    if (board->relay) {
        board->bytes = (uint32_t)bytes;
        atomic_store(&board->posted, meeting + 1);
    }
    atomic_store(&board->came[peers->rank], meeting + 1);
    if (board->relay) {
        seat->wake(seat->wake_arg);
    } else if (atomic_fetch_add(&board->arrived, 1) + 1 == peers->size) {
        atomic_store(&board->arrived, 0);
        futex_set(&board->meeting, meeting + 1);
    }
    await(board, meeting);
    for (unsigned r = 0; bytes && r < peers->size; r++)
        memcpy((char *)all + r * bytes, board->block[meeting % 2][r], bytes);
    return 0;
}

void board_sit(struct board *board, struct board_seat *seat, unsigned rank, unsigned size,
               struct peers *peers)
{
    assert(rank < size && size <= BOARD_RANKS);
    seat->board = board;
    *peers = (struct peers){.rank = rank, .size = size, .gather = board_gather, .impl = seat};
}

/* The meeting first: seen in the other order, a rank that is just released would seem to wait. */
bool board_waits(const struct board *board, unsigned rank)
{
    uint32_t meeting = atomic_load(&board->meeting);
    return atomic_load(&board->came[rank]) == meeting + 1;
}

uint32_t board_posted(const struct board *board, uint32_t *bytes)
{
    uint32_t posted = atomic_load(&board->posted);
    *bytes = board->bytes;
    return posted;
}

unsigned char *board_block(struct board *board, unsigned rank)
{
    return board->block[atomic_load(&board->meeting) % 2][rank];
}

void board_release(struct board *board)
{
    futex_set(&board->meeting, atomic_load(&board->meeting) + 1);
}
