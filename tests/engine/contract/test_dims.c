/* Keys in files as dimensions, and back. */
#include "harness/engine/contract/dims.h"

#include "harness/engine/contract/bench.h"
#include "tests/lib/unit.h"

enum { BY_SIZE = 1, BY_DIR, BY_STEP, BY_THREADS };
static const struct bench_dim dims[] = {
    [BY_SIZE] = {"size", DIM_BYTES},
    [BY_DIR] = {"dir", .labels = LABELS("h2d", "d2h"), .labels_long = LABELS("to the GPU", NULL)},
    [BY_STEP] = {"step", .digits = 2},
    [BY_THREADS] = {"threads", .unit = "threads", .special = {1, "1 thread"}},
    {.name = NULL},
};
static const struct bench bench = {.name = "bench", .dims = dims};

TEST(dims_give_any_key_again)
{
    static const char *const keys[] = {
        "", "size=4096", "size=4096;dir=d2h", "dir=d2h;size=4096", "step=07;threads=0.5",
        /* Numbers in another notation, and labels that are not declared. */
        "size=4k", "size=0x10", "size=1e3", "threads=007", "step=7", "dir=both", "threads=4x1",
        "threads=-3", "size=",
        /* Undeclared dimensions, and parts that are not NAME=VALUE. */
        "color=red", "size=8;color=red;shape=", "plain", "plain;size=8", "a=x=y;size=3",
        /* More parts than fit. */
        "a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8", "size=1;dir=h2d;a=1;b=2;c=3;d=4;size=5",
        /* The longest keys. */
        "name=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghij"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct dims at = dims_parse(&bench, keys[i]);
        assert_string_equal(dims_format(&bench, &at), keys[i]);
        assert_int_equal(dims_compare(&at, &at), 0);
    }
}

TEST(dims_of_a_key_are_those_that_are_emitted)
{
    const struct dims parsed = dims_parse(&bench, "size=4096;dir=d2h;step=07");
    const struct dims emitted = DIMS({BY_SIZE, 4096}, {BY_DIR, 1}, {BY_STEP, 7});
    assert_int_equal(dims_compare(&parsed, &emitted), 0);
    assert_true(dims_number(&bench, &parsed, BY_SIZE) == 4096);
    assert_true(isnan(dims_number(&bench, &parsed, BY_DIR)));
    assert_true(isnan(dims_number(&bench, &parsed, BY_THREADS)));
    assert_int_equal(dims_ordinal(&bench, &parsed, BY_STEP), 7);
    const struct dims text = dims_with_text(NO_DIMS, BY_THREADS, "16");
    assert_int_equal(dims_ordinal(&bench, &text, BY_THREADS), 16);
}

TEST(dims_are_taken_apart)
{
    const struct dims all = dims_parse(&bench, "size=4096;threads=4x1;dir=h2d;color=red");
    struct dims some = dims_without(&all, BY_SIZE);
    assert_string_equal(dims_format(&bench, &some), "threads=4x1;dir=h2d;color=red");
    some = dims_without(&some, BY_DIR);
    assert_string_equal(dims_format(&bench, &some), "threads=4x1;color=red");
    some = dims_only(&all, BY_THREADS);
    assert_string_equal(dims_format(&bench, &some), "threads=4x1");
    dims_take(&some, &all, BY_SIZE);
    assert_string_equal(dims_format(&bench, &some), "threads=4x1;size=4096");
    assert_string_equal(dims_value(&bench, &all, BY_DIR), "h2d");
    assert_string_equal(dims_value(&bench, &all, BY_STEP), "");
}

/* As in a comparison that ignores dimensions which only one side has. */
TEST(dims_agree_where_both_stand)
{
    const struct dims at = dims_parse(&bench, "size=8;threads=all");
    static const struct {
        const char *pattern;
        bool agrees;
    } cases[] = {{"", true},
                 {"size=8", true},
                 {"size=9", false},
                 {"dir=h2d", true},
                 {"threads=all", true},
                 {"threads=4", false},
                 {"size=8;threads=any", false}};
    assert_true(dims_agree(&at, NULL));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct dims pattern = dims_parse(&bench, cases[i].pattern);
        assert_int_equal(dims_agree(&at, &pattern), cases[i].agrees);
    }
}

TEST(dims_are_said)
{
    static const struct {
        const char *key, *said;
    } cases[] = {{"size=8", "size 8"},       {"dir=h2d", "to the GPU"},
                 {"dir=d2h", "dir d2h"},     {"dir=both", "dir both"},
                 {"threads=1", "1 thread"},  {"threads=8", "8 threads"},
                 {"color=red", "color red"}, {"threads=4x1", "4x1 threads"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct dims at = dims_parse(&bench, cases[i].key);
        assert_string_equal(dims_format_part(&bench, &at, 0), cases[i].said);
    }
}
