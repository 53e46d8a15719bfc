/* harness/record/json_value.h: pieces of JSON text. */
#include "harness/record/json_value.h"
#include "tests/lib/unit.h"

static struct json_piece piece(const char *text)
{
    return (struct json_piece){text, strlen(text)};
}

TEST(members_come_one_after_the_other)
{
    struct json_walk walk;
    struct json_piece name, value;
    const char *text = " {\"a\": \"}\\\"]\", \"b\" :[1, {\"x\": \"]\"}],\n\"c\":-1.5e3}";
    const char *const expected[][2] = {
        {"a", "\"}\\\"]\""}, {"b", "[1, {\"x\": \"]\"}]"}, {"c", "-1.5e3"}};
    assert_int_equal(json_walk_open(&walk, piece(text), '{'), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(json_walk_next(&walk, &name, &value), 1);
        assert_int_equal(name.length, 1);
        assert_memory_equal(name.at, expected[i][0], 1);
        assert_int_equal(value.length, strlen(expected[i][1]));
        assert_memory_equal(value.at, expected[i][1], value.length);
    }
    assert_int_equal(json_walk_next(&walk, &name, &value), 0);
}

TEST(a_member_is_found_at_its_own_level)
{
    struct json_piece text = piece("{\"a\": {\"b\": 1}, \"b\": 2, \"e\": {}}");
    json_auto_t *found = json_walk_member(text, "b");
    assert_int_equal(json_integer_value(found), 2);
    json_decref(found);
    found = json_walk_member(text, "e");
    assert_true(json_is_object(found));
    assert_null(json_walk_member(text, "x"));
    assert_null(json_walk_member(piece("[1]"), "x"));
}

/* Truncated at any byte, the text is refused, and nothing behind its end is read. */
TEST(a_cut_text_is_no_json)
{
    const char *text = "{\"a\": [1, 2, \"x\\\"\"], \"b\": {\"c\": null}}";
    for (size_t length = 0; length < strlen(text); length++) {
        char copy[64];
        struct json_walk walk;
        struct json_piece name, value;
        memcpy(copy, text, length);
        int rc = json_walk_open(&walk, (struct json_piece){copy, length}, '{') ? -EINVAL : 1;
        while (rc == 1)
            rc = json_walk_next(&walk, &name, &value);
        assert_int_equal(rc, -EINVAL);
    }
}
