/* More time stamps than the buffer keeps. */
#include "bench/common/stamps.h"
#include "tests/lib/unit.h"

TEST(stamps_keep_all_that_there_is_room_for)
{
    struct stamps stamps;
    assert_int_equal(stamps_open(&stamps), 0);
    for (unsigned i = 0; i < STAMPS_MOST; i++)
        stamps_add(&stamps, i);
    assert_int_equal(stamps.n, STAMPS_MOST);
    for (unsigned i = 0; i < STAMPS_MOST; i++)
        assert_true(stamps.value[i] == i);
    stamps_close(&stamps);
}

/* If there are more stamps, every n-th is kept, from the first to the last. */
TEST(stamps_spread_over_all_that_came)
{
    static const unsigned times[] = {1, 2, 3, 7, 16};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        struct stamps stamps;
        unsigned seen = STAMPS_MOST * times[t] + 1;
        assert_int_equal(stamps_open(&stamps), 0);
        for (unsigned i = 0; i < seen; i++)
            stamps_add(&stamps, i);
        assert_in_range(stamps.n, STAMPS_MOST / 2, STAMPS_MOST);
        for (size_t i = 0; i < stamps.n; i++)
            assert_true(stamps.value[i] == (double)(i * stamps.every));
        assert_true((double)seen - stamps.value[stamps.n - 1] <= (double)stamps.every);
        stamps_close(&stamps);
    }
}
