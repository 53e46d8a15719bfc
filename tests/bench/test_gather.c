/* Gathers numbers of workers that have different counts. */
#include <pthread.h>

#include "bench/common/gather.h"
#include "tests/lib/unit.h"

enum { WORKERS = 3 };

static pthread_barrier_t barrier;
static unsigned char blocks[WORKERS][PEERS_BLOCK_MAX];

static int gather(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err)
{
    assert_true(bytes <= PEERS_BLOCK_MAX);
    memcpy(blocks[peers->rank], mine, bytes);
    (void)pthread_barrier_wait(&barrier);
    for (unsigned r = 0; r < WORKERS; r++)
        memcpy((char *)all + r * bytes, blocks[r], bytes);
    (void)pthread_barrier_wait(&barrier);
    return 0;
}

struct worker {
    unsigned rank;
    size_t n; /* count of this worker */
    double *all;
    size_t total;
    double sum;
    int rc;
};

static void *run(void *arg)
{
    struct worker *worker = arg;
    struct peers peers = {.rank = worker->rank, .size = WORKERS, .gather = gather};
    struct err err = {0};
    struct bench_ctx ctx = {.peers = &peers, .err = &err};
    double *mine = calloc(worker->n + 1, sizeof(*mine));
    for (size_t i = 0; mine && i < worker->n; i++)
        mine[i] = 1e6 * worker->rank + (double)i;
    worker->rc = gather_numbers(&ctx, mine, worker->n, &worker->all, &worker->total);
    worker->sum = worker->rank + 1;
    if (!worker->rc)
        worker->rc = gather_sum(&ctx, &worker->sum);
    free(mine);
    return NULL;
}

static void check(const size_t counts[static WORKERS])
{
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, WORKERS), 0);
    for (unsigned r = 0; r < WORKERS; r++) {
        workers[r] = (struct worker){.rank = r, .n = counts[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, run, &workers[r]), 0);
    }
    for (unsigned r = 0; r < WORKERS; r++)
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    (void)pthread_barrier_destroy(&barrier);
    assert_int_equal(workers[0].total, counts[0] + counts[1] + counts[2]);
    size_t at = 0;
    for (unsigned r = 0; r < WORKERS; r++) {
        assert_int_equal(workers[r].rc, 0);
        for (size_t i = 0; i < counts[r]; i++)
            assert_true(workers[0].all[at++] == 1e6 * r + (double)i);
        assert_true(r == 0 || (!workers[r].all && workers[r].total == 0));
    }
    assert_true(workers[0].sum == 6);
    free(workers[0].all);
}

/* A chunk holds 4096 numbers. */
TEST(gather_numbers_of_any_counts)
{
    check((const size_t[]){0, 0, 0});
    check((const size_t[]){3, 0, 5});
    check((const size_t[]){4096, 4097, 4095});
    check((const size_t[]){1, 20000, 8192});
}
