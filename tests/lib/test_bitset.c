/* Sets of CPU numbers: the operations compared with a plain array; parsing and printing of
 * lists. */
#include "harness/lib/bitset.h"
#include "tests/lib/unit.h"

static struct bitset parse(const char *text)
{
    struct bitset set;
    assert_int_equal(bitset_parse(text, &set, NULL), 0);
    return set;
}

static void assert_format(const struct bitset *set, const char *want)
{
    assert_string_equal(bitset_format(set), want);
}

TEST(bitset_parse_and_format)
{
    static const struct {
        const char *in, *out;
        unsigned count;
    } want[] = {
        {"0", "0", 1},
        {"0-3,8", "0-3,8", 5},
        {"8,0-3", "0-3,8", 5},
        {"3,1,2", "1-3", 3},
        {"1,1,1-2", "1-2", 2},
        {"5-5", "5", 1},
        {"007", "7", 1},
        {"62-65", "62-65", 4},
        {"63,64", "63-64", 2},
        {"8191", "8191", 1},
        {"0-8191", "0-8191", BITSET_BITS},
    };
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct bitset set = parse(want[i].in);
        assert_format(&set, want[i].out);
        assert_int_equal(bitset_count(&set), want[i].count);
    }
}

TEST(bitset_parse_refuses)
{
    static const char *const bad[] = {
        "",     " ",     "a",          "1,",
        ",1",   "1,,2",  "1-",         "-1",
        "3-1",  "1-2-3", "8192",       "0-8192",
        "1 2",  " 1",    "1 ",         "+1",
        "0x10", "1.5",   "1,2,x",      "99999999999999999999",
        "1;2",  "0-3\n", "4294967296", "18446744073709551616",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bitset set;
        struct err err;
        char quoted[64];
        put_text(quoted, "'%s'", bad[i]);
        assert_int_equal(bitset_parse(bad[i], &set, &err), -EINVAL);
        assert_int_equal(err.code, -EINVAL);
        assert_has(err.msg, quoted);
        assert_has(err.msg, "0-3,8");
        assert_true(bitset_empty(&set));
    }
    struct bitset set;
    assert_int_equal(bitset_parse("x", &set, NULL), -EINVAL);
}

TEST(bitset_next_cpu_samples_members_in_order)
{
    struct bitset set = parse("0,63-64,127,8191");
    static const int want[] = {0, 63, 64, 127, 8191};
    size_t n = 0;
    for (int i = bitset_next(&set, 0); i >= 0; i = bitset_next(&set, (unsigned)i + 1))
        assert_int_equal(i, want[n++]);
    assert_int_equal(n, 5);
    assert_int_equal(bitset_next(&set, 65), 127);
    assert_int_equal(bitset_next(&set, 8191), 8191);
    assert_int_equal(bitset_next(&set, 8192), -1);
    assert_int_equal(bitset_next(&set, 4000000000u), -1);
    struct bitset empty = {0};
    assert_int_equal(bitset_next(&empty, 0), -1);
}

TEST(bitset_test_is_false_outside)
{
    struct bitset set = parse("0-8191");
    assert_true(bitset_test(&set, 8191));
    assert_false(bitset_test(&set, 8192));
    bitset_clear(&set, 8191);
    assert_false(bitset_test(&set, 8191));
    assert_true(bitset_test(&set, 8190));
}

/* Two random sets as arrays of bool; every operation must agree with the obvious loop. */
TEST(bitset_operations_agree_with_arrays)
{
    static bool in_a[BITSET_BITS], in_b[BITSET_BITS];
    uint32_t random = 1;
    for (int round = 0; round < 20; round++) {
        struct bitset a = {0}, b = {0};
        unsigned count = 0;
        bool subset = true, meets = false, equal = true;
        for (unsigned i = 0; i < BITSET_BITS; i++) {
            random = random * 1664525u + 1013904223u;
            in_a[i] = (random >> 24) < 16u * (unsigned)round;
            in_b[i] = round % 3 ? (random >> 16 & 255) < 100 : in_a[i] || i % 7 == 0;
            if (in_a[i])
                bitset_set(&a, i);
            if (in_b[i])
                bitset_set(&b, i);
            count += in_a[i];
            subset &= !in_a[i] || in_b[i];
            meets |= in_a[i] && in_b[i];
            equal &= in_a[i] == in_b[i];
        }
        assert_int_equal(bitset_count(&a), count);
        assert_int_equal(bitset_empty(&a), count == 0);
        assert_int_equal(bitset_subset(&a, &b), subset);
        assert_int_equal(bitset_intersects(&a, &b), meets);
        assert_int_equal(bitset_equal(&a, &b), equal);
        struct bitset both = a, either = a, only = a;
        bitset_and(&both, &b);
        bitset_or(&either, &b);
        bitset_andnot(&only, &b);
        for (unsigned i = 0; i < BITSET_BITS; i++) {
            assert_int_equal(bitset_test(&both, i), in_a[i] && in_b[i]);
            assert_int_equal(bitset_test(&either, i), in_a[i] || in_b[i]);
            assert_int_equal(bitset_test(&only, i), in_a[i] && !in_b[i]);
        }
    }
}

TEST(bitset_round_trip)
{
    uint32_t random = 7;
    for (int round = 0; round < 50; round++) {
        struct bitset set = {0};
        bitset_set(&set, random % BITSET_BITS);
        for (unsigned i = 0; i < BITSET_BITS; i++) {
            random = random * 1664525u + 1013904223u;
            if ((random >> 24) < 5u * (unsigned)round)
                bitset_set(&set, i);
        }
        struct bitset again = parse(bitset_format(&set));
        assert_true(bitset_equal(&set, &again));
    }
    assert_format(&(struct bitset){0}, "");
    /* The set with the longest list: no two CPUs are adjacent. */
    struct bitset even = {0};
    for (unsigned i = 1; i < BITSET_BITS; i += 2)
        bitset_set(&even, i);
    struct bitset again = parse(bitset_format(&even));
    assert_true(bitset_equal(&even, &again));
}
