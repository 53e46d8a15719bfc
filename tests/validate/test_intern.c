/* harness/validate/fleet.h: equal strings have the same number. */
#include "harness/validate/fleet.h"
#include "tests/lib/unit.h"

static uint32_t add(struct intern *intern, const char *text)
{
    uint32_t number = INTERN_NONE;
    assert_int_equal(intern_add(intern, text, strlen(text), &number, NULL), 0);
    return number;
}

TEST(numbers_follow_each_other)
{
    AUTO(intern) intern = {0};
    assert_int_equal(intern_find(&intern, "a", 1), INTERN_NONE);
    assert_int_equal(add(&intern, "a"), 0);
    assert_int_equal(add(&intern, ""), 1);
    assert_int_equal(add(&intern, "a"), 0);
    assert_int_equal(intern.n, 2);
    assert_string_equal(intern_text(&intern, 1), "");
    assert_int_equal(intern_find(&intern, "ab", 1), 0);
    assert_int_equal(intern_find(&intern, "ab", 2), INTERN_NONE);
}

TEST(many_keep_their_numbers)
{
    AUTO(intern) intern = {0};
    char text[32];
    for (uint32_t i = 0; i < 20000; i++) {
        put_text(text, "string %u", i);
        assert_int_equal(add(&intern, text), i);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        put_text(text, "string %u", i);
        assert_int_equal(intern_find(&intern, text, strlen(text)), i);
        assert_string_equal(intern_text(&intern, i), text);
    }
}
