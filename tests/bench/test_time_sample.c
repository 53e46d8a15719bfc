/* More time stamps than the buffer keeps. */
#include "bench/io/reader.h"
#include "tests/lib/unit.h"

TEST(time_sample_keeps_all_that_there_is_room_for)
{
    ENDED_BY(time_sample_close) struct time_sample sample;
    assert_int_equal(time_sample_open(&sample), 0);
    for (unsigned i = 0; i < TIME_SAMPLE_MOST; i++)
        time_sample_add(&sample, i);
    assert_int_equal(sample.n, TIME_SAMPLE_MOST);
    for (unsigned i = 0; i < TIME_SAMPLE_MOST; i++)
        assert_true(sample.value[i] == i);
}

/* If there are more stamps, every n-th is kept, from the first to the last. */
TEST(time_sample_spreads_over_all_values)
{
    static const unsigned times[] = {1, 2, 3, 7, 16};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        ENDED_BY(time_sample_close) struct time_sample sample;
        unsigned seen = TIME_SAMPLE_MOST * times[t] + 1;
        assert_int_equal(time_sample_open(&sample), 0);
        for (unsigned i = 0; i < seen; i++)
            time_sample_add(&sample, i);
        assert_in_range(sample.n, TIME_SAMPLE_MOST / 2, TIME_SAMPLE_MOST);
        for (size_t i = 0; i < sample.n; i++)
            assert_true(sample.value[i] == (double)(i * sample.every));
        assert_true((double)seen - sample.value[sample.n - 1] <= (double)sample.every);
    }
}
