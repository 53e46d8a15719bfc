/* Text of the scratch arena: it stays intact at any length, until it is released. */
#include "harness/lib/text.h"

#include <pthread.h>

#include "tests/lib/unit.h"

TEST(str_keeps_earlier_text_at_any_length)
{
    const char *first = str_fmt("%d and %s", 1, "more");
    for (int length = 1; length < 40000; length += 997) {
        const char *text = str_fmt("%0*d", length, 0);
        assert_int_equal(strlen(text), length);
        assert_int_equal(strspn(text, "0"), length);
    }
    assert_string_equal(first, "1 and more");
}

TEST(str_adds_with_separators)
{
    const char *text = "";
    str_add(&text, ", ", "%s", "a");
    str_add(&text, ", ", "%d of %s", 2, str_fmt("%s", "b"));
    str_add(&text, "", "!");
    assert_string_equal(text, "a, 2 of b!");
    for (int i = 0; i < 20000; i++)
        str_add(&text, ",", "%04d", i);
    const char *letters = "";
    for (int i = 0; i < 50000; i++)
        str_add(&letters, "", "%s", "xyz");
    assert_int_equal(strlen(letters), 150000);
    assert_int_equal(strspn(letters, "xyz"), 150000);
    assert_int_equal(strlen(text), 10 + 10000 * (5 + 6));
    assert_string_equal(text + strlen(text) - 10, "9998,19999");
}

/* A loop that releases uses the same memory again. */
TEST(str_releases_to_a_mark)
{
    const char *kept = str_fmt("kept");
    struct str_mark mark = str_mark();
    const char *turn = str_fmt("%d", 0);
    for (int i = 0; i < 1000; i++) {
        str_release(mark);
        assert_ptr_equal(str_fmt("%d", i), turn);
        (void)str_fmt("%01000d%0*d", i, 20 * i, i);
    }
    str_release(mark);
    assert_string_equal(kept, "kept");
}

static void *compose(void *text)
{
    *(char *)text = str_fmt("of this thread alone")[0];
    return NULL;
}

/* The leak checker would see what an ended thread leaves. */
TEST(str_of_a_thread_ends_with_it)
{
    char got = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, compose, &got), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(got, 'o');
}
