/* Ranks as threads in one barrier; and one rank whose parent stands in for other nodes. */
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "harness/engine/worker/shared.h"
#include "tests/lib/unit.h"

enum { RANKS = 7, BARRIERS = 2000 };

struct rank {
    struct barrier *barrier;
    unsigned rank;
    unsigned wrong;
    bool slow;
};

/* Only pages that ranks touch are allocated. */
static struct barrier *barrier_map(void)
{
    void *barrier = mmap(NULL, sizeof(struct barrier), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(barrier != MAP_FAILED);
    return barrier;
}

static void *attend(void *arg)
{
    struct rank *rank = arg;
    struct barrier_rank view = {0};
    struct peers peers;
    barrier_join(rank->barrier, &view, rank->rank, RANKS, &peers);
    for (uint64_t m = 0; m < BARRIERS; m++) {
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

TEST(barrier_everyone_gets_what_everyone_gave)
{
    struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    struct barrier *barrier = barrier_map();
    for (unsigned r = 0; r < RANKS; r++) {
        ranks[r] = (struct rank){.barrier = barrier, .rank = r, .slow = r == 3};
        assert_int_equal(pthread_create(&threads[r], NULL, attend, &ranks[r]), 0);
    }
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
        assert_int_equal(ranks[r].wrong, 0);
    }
    assert_int_equal(munmap(barrier, sizeof(*barrier)), 0);
}

TEST(barrier_one_rank_is_alone)
{
    struct barrier_rank view = {0};
    struct peers peers;
    struct barrier *barrier = barrier_map();
    int mine = 5, all = 0;
    barrier_join(barrier, &view, 0, 1, &peers);
    assert_int_equal(peers_gather(&peers, &mine, &all, sizeof(mine), NULL), 0);
    assert_int_equal(all, 5);
    assert_int_equal(peers_barrier(&peers, NULL), 0);
    assert_int_equal(munmap(barrier, sizeof(*barrier)), 0);
}

TEST(barrier_refuses_more_than_a_block)
{
    struct peers peers = {.size = 2};
    struct err err = {0};
    assert_int_equal(peers_gather(&peers, NULL, NULL, PEERS_BLOCK_MAX + 1, &err), -EINVAL);
    assert_has(err.msg, "32769");
}

static void wake_nobody(void *arg)
{
}

/* This node's rank. The main thread is its parent and adds the other node's data. */
static void *attend_by_relay(void *arg)
{
    struct rank *rank = arg;
    struct barrier_rank view = {0};
    struct peers peers;
    view.wake = wake_nobody;
    barrier_join(rank->barrier, &view, 1, 2, &peers);
    for (unsigned m = 0; m < 100; m++) {
        unsigned mine = m, all[2] = {0};
        rank->wrong += peers_gather(&peers, &mine, all, sizeof(mine), NULL) != 0;
        rank->wrong += all[0] != 7 * m || all[1] != m;
    }
    return NULL;
}

TEST(barrier_relay_waits_for_the_parent)
{
    pthread_t thread;
    struct barrier *barrier = barrier_map();
    struct rank rank = {.barrier = barrier};
    barrier->relay = 1;
    assert_int_equal(pthread_create(&thread, NULL, attend_by_relay, &rank), 0);
    for (unsigned m = 0; m < 100; m++) {
        while (!barrier_waits(barrier, 1))
            ;
        unsigned own;
        memcpy(&own, barrier_block(barrier, 1), sizeof(own));
        assert_int_equal(own, m);
        assert_int_equal(barrier->bytes, sizeof(own));
        memcpy(barrier_block(barrier, 0), &(unsigned){7 * m}, sizeof(unsigned));
        barrier_release(barrier);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rank.wrong, 0);
    assert_int_equal(munmap(barrier, sizeof(*barrier)), 0);
}
