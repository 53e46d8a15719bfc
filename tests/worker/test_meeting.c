/* Ranks as threads on one board; and one rank whose parent stands in for other nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "harness/worker/meeting.h"

enum { RANKS = 7, MEETINGS = 2000 };

struct rank {
    struct board *board;
    unsigned rank;
    unsigned wrong;
    bool slow;
};

/* Only the pages that ranks touch exist. */
static struct board *board_map(void)
{
    void *board = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(board != MAP_FAILED);
    return board;
}

static void *attend(void *arg)
{
    struct rank *rank = arg;
    struct board_seat seat = {0};
    struct peers peers;
    board_sit(rank->board, &seat, rank->rank, RANKS, &peers);
    for (uint64_t m = 0; m < MEETINGS; m++) {
        uint64_t mine[2] = {m, rank->rank * 1000 + m}, all[RANKS][2];
        if (rank->slow && m % 500 == 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        rank->wrong += peers_gather(&peers, mine, all, sizeof(mine), NULL) != 0;
        for (unsigned r = 0; r < RANKS; r++)
            rank->wrong += all[r][0] != m || all[r][1] != r * 1000 + m;
        if (m % 3 == 0)
            rank->wrong += peers_barrier(&peers, NULL) != 0;
    }
    return NULL;
}

static void test_board_everyone_gets_what_everyone_gave(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    struct board *board = board_map();
    for (unsigned r = 0; r < RANKS; r++) {
        ranks[r] = (struct rank){.board = board, .rank = r, .slow = r == 3};
        assert_int_equal(pthread_create(&threads[r], NULL, attend, &ranks[r]), 0);
    }
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
        assert_int_equal(ranks[r].wrong, 0);
    }
    assert_int_equal(munmap(board, sizeof(*board)), 0);
}

static void test_board_one_rank_is_alone(void **state)
{
    (void)state;
    struct board_seat seat = {0};
    struct peers peers;
    struct board *board = board_map();
    int mine = 5, all = 0;
    board_sit(board, &seat, 0, 1, &peers);
    assert_int_equal(peers_gather(&peers, &mine, &all, sizeof(mine), NULL), 0);
    assert_int_equal(all, 5);
    assert_int_equal(peers_barrier(&peers, NULL), 0);
    assert_int_equal(munmap(board, sizeof(*board)), 0);
}

static void test_board_refuses_more_than_a_block(void **state)
{
    (void)state;
    struct peers peers = {.size = 2};
    struct err err = {0};
    assert_int_equal(peers_gather(&peers, NULL, NULL, PEERS_BLOCK_MAX + 1, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "32769"));
}

static void wake_nobody(void *arg)
{
    (void)arg;
}

/* The rank of this node; the main thread is its parent and adds what the other node gave. */
static void *attend_by_relay(void *arg)
{
    struct rank *rank = arg;
    struct board_seat seat = {0};
    struct peers peers;
    seat.wake = wake_nobody;
    board_sit(rank->board, &seat, 1, 2, &peers);
    for (unsigned m = 0; m < 100; m++) {
        unsigned mine = m, all[2] = {0};
        rank->wrong += peers_gather(&peers, &mine, all, sizeof(mine), NULL) != 0;
        rank->wrong += all[0] != 7 * m || all[1] != m;
    }
    return NULL;
}

static void test_board_relay_waits_for_the_parent(void **state)
{
    (void)state;
    pthread_t thread;
    struct board *board = board_map();
    struct rank rank = {.board = board};
    board->relay = 1;
    assert_int_equal(pthread_create(&thread, NULL, attend_by_relay, &rank), 0);
    for (unsigned m = 0; m < 100; m++) {
        while (!board_waits(board, 1))
            ;
        unsigned own;
        memcpy(&own, board_block(board, 1), sizeof(own));
        assert_int_equal(own, m);
        assert_int_equal(board->bytes, sizeof(own));
        memcpy(board_block(board, 0), &(unsigned){7 * m}, sizeof(unsigned));
        board_release(board);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rank.wrong, 0);
    assert_int_equal(munmap(board, sizeof(*board)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_board_everyone_gets_what_everyone_gave),
        cmocka_unit_test(test_board_one_rank_is_alone),
        cmocka_unit_test(test_board_refuses_more_than_a_block),
        cmocka_unit_test(test_board_relay_waits_for_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
