/* Ranks as threads that meet in every step, some of them late: all must leave at the same step. */
#include <pthread.h>
#include <time.h>

#include "harness/engine/worker/shared.h"
#include "tests/lib/unit.h"

enum { RANKS = 5, GAMES = 200, LONGEST = 40, ENDLESS = 2 * LONGEST };

static struct {
    struct step_limit step_limit[GAMES];
    pthread_barrier_t barrier;
} shared;

struct rank {
    unsigned rank;
    uint64_t steps[GAMES];
};

static uint64_t play(struct step_limit *step_limit, unsigned rank, uint64_t game)
{
    for (uint64_t step = 1; step < ENDLESS; step++) {
        if (rank == 0 && step == 1 + game % LONGEST)
            step_limit_end_with(step_limit, step);
        if (game % 20 == 0 && step % RANKS == rank)
            (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        (void)pthread_barrier_wait(&shared.barrier);
        if (step_limit_ends(step_limit, step))
            return step;
    }
    return 0;
}

static void *march(void *arg)
{
    struct rank *rank = arg;
    for (uint64_t game = 0; game < GAMES; game++)
        rank->steps[game] = play(&shared.step_limit[game], rank->rank, game);
    return NULL;
}

TEST(step_limit_all_leave_at_the_step_that_rank_0_chose)
{
    struct rank rank[RANKS] = {{0}};
    pthread_t thread[RANKS];
    assert_int_equal(pthread_barrier_init(&shared.barrier, NULL, RANKS), 0);
    for (unsigned r = 0; r < RANKS; r++) {
        rank[r].rank = r;
        assert_int_equal(pthread_create(&thread[r], NULL, march, &rank[r]), 0);
    }
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    for (unsigned r = 0; r < RANKS; r++)
        for (uint64_t game = 0; game < GAMES; game++)
            assert_int_equal(rank[r].steps[game], 1 + game % LONGEST);
    (void)pthread_barrier_destroy(&shared.barrier);
}
