/* What contend says about made-up programs; it says nothing about good ones. */
#include "harness/comms/findings.h"

#include "harness/comms/plugin/names.h"
#include "tests/lib/unit.h"

enum { RANKS = 4, DONE_MOST = 64, MOMENTS_MOST = 20000 };

static struct comms_done done[DONE_MOST];
static struct comms_rank present[RANKS];
static struct comms_moment moment[MOMENTS_MOST];
static struct comms_timeline timeline;
static struct comms_communicator communicator;
static struct findings findings;

static int begin(void **state)
{
    communicator = (struct comms_communicator){
        .nranks = RANKS, .nodes = 1, .npresent = RANKS, .present = present, .done = done};
    timeline = (struct comms_timeline){.moment = moment};
    for (uint32_t rank = 0; rank < RANKS; rank++)
        present[rank].rank = rank;
    return 0;
}

static int end(void **state)
{
    findings_free(&findings);
    return 0;
}

/* Adds a rank's calls of one size. Call it in the order of ranks, as comms_merge has them. */
static void did(uint32_t rank, uint32_t func, int32_t peer, uint64_t calls, uint64_t size)
{
    const struct comms_key key = {.func = func,
                                  .algo = func == COMMS_SEND ? COMMS_POINT_TO_POINT : COMMS_RING,
                                  .peer = peer,
                                  .bucket = comms_bucket(size)};
    assert_true(communicator.ndone < DONE_MOST);
    done[communicator.ndone++] =
        (struct comms_done){rank, {.key = key, .calls = calls, .bytes = calls * size}};
}

static void happened(uint32_t func, uint64_t size)
{
    const struct comms_key key = {.func = func, .peer = -1};
    assert_true(timeline.n < MOMENTS_MOST);
    moment[timeline.n++] = (struct comms_moment){.key = comms_key_pack(&key), .bytes = size};
}

static const char *judged(void)
{
    const struct comms comms = {.n = 1, .communicator = &communicator};
    comms_usage_judge(&comms, &timeline, &findings);
    return findings.n ? findings.all[0].id : "";
}

/* Buckets of 25 MiB, a small one for the loss, a broadcast of every buffer at the start. */
TEST_WITHIN(nothing_is_said_of_data_parallel_training, begin, end)
{
    enum { STEPS = 1500, BUCKETS = 4 };
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        did(rank, COMMS_ALL_REDUCE, -1, STEPS, 4);
        did(rank, COMMS_ALL_REDUCE, -1, (uint64_t)STEPS * BUCKETS, 25 << 20);
        did(rank, COMMS_BROADCAST, 0, 400, 1000);
    }
    for (int step = 0; step < STEPS; step++)
        for (int bucket = 0; bucket <= BUCKETS; bucket++)
            happened(COMMS_ALL_REDUCE, bucket < BUCKETS ? 25 << 20 : 4);
    assert_string_equal(judged(), "");
}

TEST_WITHIN(small_calls_in_a_row_are_to_be_joined, begin, end)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        did(rank, COMMS_ALL_REDUCE, -1, 5000, 256);
        did(rank, COMMS_ALL_REDUCE, -1, 50, 25 << 20);
    }
    for (int i = 0; i < 5050; i++)
        happened(COMMS_ALL_REDUCE, i % 101 ? 256 : 25 << 20);
    assert_string_equal(judged(), "comms_many_small");
    assert_int_equal(findings.n, 1);
    assert_has(findings.all[0].sentence, "below 64 KiB");
    assert_has(findings.all[0].evidence,
               "5000 calls below 64 KiB, 50 above, 100.0 in a row; not timed");
}

TEST_WITHIN(small_calls_apart_cannot_be_joined, begin, end)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        did(rank, COMMS_ALL_REDUCE, -1, 5000, 256);
        did(rank, COMMS_ALL_GATHER, -1, 5000, 25 << 20);
    }
    for (int i = 0; i < 10000; i++)
        happened(i % 2 ? COMMS_ALL_REDUCE : COMMS_ALL_GATHER, i % 2 ? 256 : 25 << 20);
    assert_string_equal(judged(), "comms_below_knee");
    assert_int_equal(findings.n, 1);
}

/* 10 us for any size, and at most 100 GB/s: both take equally long at 1 MB. */
TEST_WITHIN(the_knee_is_that_of_timed_calls, begin, end)
{
    struct comms_knee knee;
    did(0, COMMS_ALL_REDUCE, -1, 2000, 500000);
    did(0, COMMS_ALL_REDUCE, -1, 10, 1000000000);
    knee = comms_knee_of(&communicator, COMMS_ALL_REDUCE);
    assert_true(isnan(knee.latency_s));
    assert_int_equal((int)knee.bytes, COMMS_SMALL_BYTES);
    assert_string_equal(judged(), "");
    for (size_t i = 0; i < 2; i++) {
        done[i].count.timed_calls = 10;
        done[i].count.timed_bytes = i ? 10000000000 : 5000000;
        done[i].count.timed_ns = i ? 100000000 : 100000;
    }
    knee = comms_knee_of(&communicator, COMMS_ALL_REDUCE);
    assert_true(fabs(knee.latency_s - 1e-5) < 1e-9);
    assert_true(fabs(knee.bytes - 1e6) < 1);
    assert_string_equal(judged(), "comms_below_knee");
    assert_has(findings.all[0].sentence, "at 10.0 us each that is 20.0 ms");
}

static void all_to_all(uint64_t size)
{
    for (uint32_t from = 0; from < RANKS; from++)
        for (int32_t to = 0; to < RANKS; to++)
            if ((uint32_t)to != from)
                did(from, COMMS_SEND, to, 10, size);
}

TEST_WITHIN(even_exchanges_are_well, begin, end)
{
    all_to_all(10 << 20);
    assert_string_equal(judged(), "");
}

/* Forward and backward through pipeline stages: the first and the last send half as much. */
TEST_WITHIN(a_pipeline_is_well, begin, end)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (rank)
            did(rank, COMMS_SEND, (int32_t)rank - 1, 100, 10 << 20);
        if (rank + 1 < RANKS)
            did(rank, COMMS_SEND, (int32_t)rank + 1, 100, 10 << 20);
    }
    assert_string_equal(judged(), "");
}

TEST_WITHIN(an_uneven_pair_is_named, begin, end)
{
    all_to_all(10 << 20);
    done[7].count.bytes *= 3; /* rank 2's sends to its second peer, rank 1 */
    assert_string_equal(judged(), "comms_uneven_peers");
    assert_int_equal(findings.n, 1);
    assert_has(findings.all[0].evidence, "2 to 1");
}

TEST_WITHIN(an_uneven_rank_is_named, begin, end)
{
    for (int32_t to = 1; to < RANKS; to++)
        did(0, COMMS_SEND, to, 10, 100 << 20);
    assert_string_equal(judged(), "comms_uneven_ranks");
    assert_int_equal(findings.n, 1);
    assert_has(findings.all[0].sentence, "rank 0 sends 4.0 times");
}
