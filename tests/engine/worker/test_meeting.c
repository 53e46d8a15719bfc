/* Ranks as threads in one meeting; and one rank whose parent stands in for other nodes. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "harness/engine/worker/meeting.h"
#include "tests/lib/unit.h"

enum { RANKS = 7, MEETINGS = 2000 };

struct rank {
    struct meeting *meeting;
    unsigned rank;
    unsigned wrong;
    bool slow;
};

/* Only the pages that ranks touch exist. */
static struct meeting *meeting_map(void)
{
    void *meeting = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(meeting != MAP_FAILED);
    return meeting;
}

static void *attend(void *arg)
{
    struct rank *rank = arg;
    struct meeting_seat seat = {0};
    struct peers peers;
    meeting_sit(rank->meeting, &seat, rank->rank, RANKS, &peers);
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

TEST(meeting_everyone_gets_what_everyone_gave)
{
    struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    struct meeting *meeting = meeting_map();
    for (unsigned r = 0; r < RANKS; r++) {
        ranks[r] = (struct rank){.meeting = meeting, .rank = r, .slow = r == 3};
        assert_int_equal(pthread_create(&threads[r], NULL, attend, &ranks[r]), 0);
    }
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
        assert_int_equal(ranks[r].wrong, 0);
    }
    assert_int_equal(munmap(meeting, sizeof(*meeting)), 0);
}

TEST(meeting_one_rank_is_alone)
{
    struct meeting_seat seat = {0};
    struct peers peers;
    struct meeting *meeting = meeting_map();
    int mine = 5, all = 0;
    meeting_sit(meeting, &seat, 0, 1, &peers);
    assert_int_equal(peers_gather(&peers, &mine, &all, sizeof(mine), NULL), 0);
    assert_int_equal(all, 5);
    assert_int_equal(peers_barrier(&peers, NULL), 0);
    assert_int_equal(munmap(meeting, sizeof(*meeting)), 0);
}

TEST(meeting_refuses_more_than_a_block)
{
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
    struct meeting_seat seat = {0};
    struct peers peers;
    seat.wake = wake_nobody;
    meeting_sit(rank->meeting, &seat, 1, 2, &peers);
    for (unsigned m = 0; m < 100; m++) {
        unsigned mine = m, all[2] = {0};
        rank->wrong += peers_gather(&peers, &mine, all, sizeof(mine), NULL) != 0;
        rank->wrong += all[0] != 7 * m || all[1] != m;
    }
    return NULL;
}

TEST(meeting_relay_waits_for_the_parent)
{
    pthread_t thread;
    struct meeting *meeting = meeting_map();
    struct rank rank = {.meeting = meeting};
    meeting->relay = 1;
    assert_int_equal(pthread_create(&thread, NULL, attend_by_relay, &rank), 0);
    for (unsigned m = 0; m < 100; m++) {
        while (!meeting_waits(meeting, 1))
            ;
        unsigned own;
        memcpy(&own, meeting_block(meeting, 1), sizeof(own));
        assert_int_equal(own, m);
        assert_int_equal(meeting->bytes, sizeof(own));
        memcpy(meeting_block(meeting, 0), &(unsigned){7 * m}, sizeof(unsigned));
        meeting_release(meeting);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rank.wrong, 0);
    assert_int_equal(munmap(meeting, sizeof(*meeting)), 0);
}
