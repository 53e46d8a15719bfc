/* Random orders drawn from a seed. */
#include "harness/lib/stats.h"
#include "tests/lib/unit.h"

enum { N = 6 };

TEST(random_shuffle_is_a_permutation)
{
    size_t order[N + 1] = {[N] = 77};
    for (uint64_t seed = 0; seed < 100; seed++) {
        unsigned seen = 0;
        random_shuffle(seed, N, order);
        for (size_t i = 0; i < N; i++)
            seen |= 1u << order[i];
        assert_int_equal(seen, (1u << N) - 1);
    }
    assert_int_equal(order[N], 77);
    random_shuffle(1, 0, NULL);
}

TEST(random_shuffle_is_the_same_for_the_same_seed)
{
    size_t once[64], again[64], other[64];
    random_shuffle(42, 64, once);
    random_shuffle(42, 64, again);
    random_shuffle(43, 64, other);
    assert_memory_equal(once, again, sizeof(once));
    assert_memory_not_equal(once, other, sizeof(once));
}

/* Each element is at each place about equally often: of 6000 draws 1000 are expected, +- 6 standard
 * deviations. */
TEST(random_shuffle_prefers_no_place)
{
    unsigned count[N][N] = {{0}};
    for (uint64_t seed = 0; seed < 1000 * N; seed++) {
        size_t order[N];
        random_shuffle(seed, N, order);
        for (size_t place = 0; place < N; place++)
            count[place][order[place]]++;
    }
    for (size_t place = 0; place < N; place++)
        for (size_t i = 0; i < N; i++)
            assert_in_range(count[place][i], 1000 - 173, 1000 + 173);
}
