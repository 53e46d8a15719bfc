/* Words that are special to a shell, systemd, YAML or Windows, in the quoting of each. */
#include "harness/plan/emit/quote.h"
#include "tests/lib/unit.h"

#define E_ACUTE "\xc3\xa9"
#define SMILE "\xf0\x9f\x98\x80"

static const struct {
    const char *word, *shell, *unit, *systemd_run, *yaml; /* yaml NULL: refused */
} cases[] = {
    {"", "''", "\"\"", "''", "\"\""},
    {"-x", "-x", "\"-x\"", "-x", "\"-x\""},
    {"a b", "'a b'", "\"a b\"", "'a b'", "\"a b\""},
    {"it's", "'it'\\''s'", "\"it's\"", "'it'\\''s'", "\"it's\""},
    {"\"q\"", "'\"q\"'", "\"\\\"q\\\"\"", "'\"q\"'", "\"\\\"q\\\"\""},
    {"\\n", "'\\n'", "\"\\\\n\"", "'\\n'", "\"\\\\n\""},
    {"$HOME", "'$HOME'", "\"$$HOME\"", "'$$HOME'", "\"$$HOME\""},
    {"$(id)", "'$(id)'", "\"$$(id)\"", "'$$(id)'", "\"$$(id)\""},
    {"%h%", "%h%", "\"%%h%%\"", "%h%", "\"%h%\""},
    {"a\nb\t", "'a\nb\t'", "\"a\\x0ab\\x09\"", "'a\nb\t'", "\"a\\u000ab\\u0009\""},
    {"\x7f", "'\x7f'", "\"\\x7f\"", "'\x7f'", "\"\\u007f\""},
    {E_ACUTE SMILE, "'" E_ACUTE SMILE "'", "\"" E_ACUTE SMILE "\"", "'" E_ACUTE SMILE "'",
     "\"\\u00e9\\U0001f600\""},
    {"\xff", "'\xff'", "\"\\xff\"", "'\xff'", NULL},
    {";", "';'", "\";\"", "';'", "\";\""},
    {"# a: - [b]", "'# a: - [b]'", "\"# a: - [b]\"", "'# a: - [b]'", "\"# a: - [b]\""},
};

static void assert_quoted(void (*quote)(struct strbuf *out, const char *word), const char *word,
                          const char *quoted)
{
    struct strbuf out = {0};
    quote(&out, word);
    FREED char *text = strbuf_take(&out);
    if (!text || strcmp(text, quoted) != 0)
        fail_msg("'%s' is quoted as %s, not as %s", word, text ? text : "nothing", quoted);
}

TEST(quote_for_each_language)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_quoted(quote_shell, cases[i].word, cases[i].shell);
        assert_quoted(quote_unit, cases[i].word, cases[i].unit);
        assert_quoted(quote_systemd_run, cases[i].word, cases[i].systemd_run);
    }
}

TEST(quote_yaml)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strbuf out = {0};
        assert_int_equal(quote_yaml_arg(&out, cases[i].word), cases[i].yaml != NULL);
        FREED char *text = strbuf_take(&out);
        assert_non_null(text);
        if (cases[i].yaml)
            assert_string_equal(text, cases[i].yaml);
    }
}

/* RFC 4648, section 10. */
TEST(quote_base64)
{
    static const char *const vectors[] = {"",         "Zg==",     "Zm8=",    "Zm9v",
                                          "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct strbuf out = {0};
        quote_base64(&out, "foobar", i);
        FREED char *text = strbuf_take(&out);
        assert_string_equal(text, vectors[i]);
    }
    struct strbuf out = {0};
    quote_base64(&out, "\xff\xfe\xfb", 3);
    FREED char *text = strbuf_take(&out);
    assert_string_equal(text, "//77");
}

TEST(quote_plain_everywhere)
{
    assert_true(quote_is_plain_everywhere("./train.py"));
    assert_true(quote_is_plain_everywhere("0-3,8"));
    static const char *const others[] = {"",  "a b", "%PATH%", "^", "&", "\"", "'", "!",
                                         "$", "\\",  "a=b",    "|", "<", "(",  ";", E_ACUTE};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(quote_is_plain_everywhere(others[i]));
}
