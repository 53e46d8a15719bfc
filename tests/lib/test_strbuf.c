/* Text that grows: everything that is added stays intact, at any length. */
#include "harness/lib/text.h"
#include "tests/lib/unit.h"

TEST(strbuf_grows)
{
    struct strbuf buf = {0};
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&buf, "%03d,", i);
    strbuf_addc(&buf, '!');
    strbuf_add(&buf, "ab??", 2);
    strbuf_adds(&buf, "");
    assert_int_equal(buf.length, 4003);
    assert_true(buf.capacity > buf.length);
    char *text = strbuf_take(&buf);
    assert_non_null(text);
    assert_int_equal(strlen(text), 4003);
    assert_memory_equal(text, "000,001,002,", 12);
    assert_string_equal(text + 3992, "998,999,!ab");
    free(text);
    assert_null(buf.text);
}

TEST(strbuf_fills_its_room_to_the_last_byte)
{
    for (size_t length = 0; length < 300; length++) {
        AUTO(strbuf) buf = {0};
        for (size_t i = 0; i < length; i++)
            strbuf_addc(&buf, (char)('a' + i % 26));
        strbuf_addf(&buf, "%s", "end");
        assert_int_equal(buf.length, length + 3);
        assert_int_equal(strlen(buf.text), buf.length);
        assert_string_equal(buf.text + length, "end");
    }
}

TEST(strbuf_empty)
{
    AUTO(strbuf) buf = {0};
    FREED char *text = strbuf_take(&buf);
    assert_string_equal(text, "");
    strbuf_free(NULL);
}
