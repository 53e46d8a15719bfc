/* Numbers and lines for people. */
#include "harness/lib/text.h"
#include "tests/lib/unit.h"

TEST(percent)
{
    static const struct {
        double share;
        const char *text;
    } cases[] = {{NAN, "-"},        {0, "0.00%"},      {0.00016, "0.02%"}, {0.00994, "0.99%"},
                 {0.00996, "1.0%"}, {0.0994, "9.9%"},  {0.0996, "10%"},    {0.844, "84%"},
                 {1, "100%"},       {12.345, "1234%"}, {-0.5, "-50.00%"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(text_percent(cases[i].share), cases[i].text);
    }
}

TEST(wrap)
{
    FREED char *text = NULL;
    FILE *out = unit_print_into(&text);
    text_wrap("The words of a sentence that is longer than the eighty columns of a terminal are "
              "wrapped.",
              0, 4, out);
    text_wrap("0-1000,1002,1004,1006,1008,1010,1012,1014,1016,1018,1020,1022,1024,1026,1028", 10, 2,
              out);
    (void)fclose(out);
    assert_string_equal(text, "The words of a sentence that is longer than the eighty columns of a "
                              "terminal\n    are wrapped.\n"
                              "0-1000,1002,1004,1006,1008,1010,1012,1014,1016,1018,1020,1022,1024,"
                              "\n  1026,1028\n");
}

TEST(shell_word)
{
    static const struct {
        const char *word, *quoted;
    } cases[] = {{"--rows=4,x/y:z@1%", "'--rows=4,x/y:z@1%'"},
                 {"./a_b+c-1", "./a_b+c-1"},
                 {"", "''"},
                 {"it's", "'it'\\''s'"},
                 {"a b;$(c)", "'a b;$(c)'"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(text_shell_word(cases[i].word), cases[i].quoted);
}

TEST(utf8_length)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {{"", 1},
                 {"a", 1},
                 {"\xc3\xbc", 2},
                 {"\xe2\x82\xac", 3},
                 {"\xf0\x9f\x90\xa7", 4},
                 {"\x80", 0},
                 {"\xc0\x80", 0},         /* an overlong encoding */
                 {"\xe0\x80\x80", 0},     /* an overlong encoding */
                 {"\xf0\x80\x80\x80", 0}, /* an overlong encoding */
                 {"\xed\xa0\x80", 0},     /* half of a UTF-16 pair */
                 {"\xf4\x90\x80\x80", 0}, /* beyond U+10FFFF */
                 {"\xe2\x82", 0}};        /* truncated */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(text_utf8_length(cases[i].text), cases[i].length);
}

TEST(text_words)
{
    assert_true(text_has_word("cpuset cpu io", ' ', "cpu"));
    assert_true(text_has_word("cpu", ' ', "cpu"));
    assert_false(text_has_word("cpuset io", ' ', "cpu"));
    assert_false(text_has_word("", ' ', "cpu"));
    assert_false(text_has_word("cpuset mycpu", ' ', "cpu"));
}
