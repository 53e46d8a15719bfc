/* Hostile text inside HTML, XML, Markdown and labels. */
#include "harness/show/escape.h"
#include "tests/lib/unit.h"

#define REPLACED "\xef\xbf\xbd"

static void assert_escaped(void (*escape)(const char *text, FILE *out), const char *text,
                           const char *expected)
{
    FREED char *escaped = NULL;
    FILE *out = unit_print_into(&escaped);
    escape(text, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(escaped, expected);
}

TEST(markup_has_no_tag_quote_or_reference)
{
    assert_escaped(escape_markup, "", "");
    assert_escaped(escape_markup, "<script>\"a\" & 'b'</script>]]>",
                   "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;]]&gt;");
    assert_escaped(escape_markup, "a\tb\nc\rd", "a&#9;b&#10;c&#13;d");
}

TEST(markup_has_what_xml_allows_alone)
{
    assert_escaped(escape_markup, "\x01\x1f", REPLACED REPLACED);
    assert_escaped(escape_markup, "\xef\xbf\xbe \xef\xbf\xbf", REPLACED " " REPLACED);
    assert_escaped(escape_markup, "\xff\xc0\x80", REPLACED REPLACED REPLACED);
    assert_escaped(escape_markup, "\xed\xa0\x80",
                   REPLACED REPLACED REPLACED);                   /* half of a UTF-16 pair */
    assert_escaped(escape_markup, "\xe2\x82", REPLACED REPLACED); /* truncated */
    assert_escaped(escape_markup, "\xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7",
                   "\xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7");
}

TEST(markdown_means_nothing)
{
    assert_escaped(escape_markdown, "a|b `c` *d* _e_ [f](g) ~h~ \\ $i$",
                   "a\\|b \\`c\\` \\*d\\* \\_e\\_ \\[f\\](g) \\~h\\~ \\\\ \\$i\\$");
    assert_escaped(escape_markdown, "<script>&amp;", "&lt;script&gt;&amp;amp;");
    assert_escaped(escape_markdown, "two\nlines\x01\xff", "two lines " REPLACED);
}

TEST(markdown_mentions_nobody)
{
    assert_escaped(escape_markdown, "@all #12 # 1", "@&#8203;all #&#8203;12 # 1");
    assert_escaped(escape_markdown, "http://a.b", "http:&#8203;//a.b");
    assert_escaped(escape_markdown, "www.a.b", "w&#8203;ww.a.b");
}

TEST(markdown_begins_no_block)
{
    assert_escaped(escape_markdown, "# a", "\\# a");
    assert_escaped(escape_markdown, "- a", "\\- a");
    assert_escaped(escape_markdown, "12. a", "12\\. a");
    assert_escaped(escape_markdown, "3) a", "3\\) a");
    assert_escaped(escape_markdown, "4.1x as fast", "4.1x as fast");
    assert_escaped(escape_markdown, "2 - 1", "2 - 1");
}

TEST(markdown_code_ends_at_its_own_fence)
{
    assert_escaped(escape_markdown_code, "", "");
    assert_escaped(escape_markdown_code, "step_time <b>", "`step_time <b>`");
    assert_escaped(escape_markdown_code, "a`b``c", "``` a`b``c ```");
    assert_escaped(escape_markdown_code, "a|b\nc\xff", "`a\\|b c" REPLACED "`");
}

TEST(line_stays_one)
{
    assert_escaped(escape_line, "a\nb\x1b[31m<c>\xff", "a b [31m<c>" REPLACED);
}

TEST(label_ends_at_its_own_quote)
{
    assert_escaped(escape_label, "a\"} 1\nb\\", "a\\\"} 1\\nb\\\\");
    assert_escaped(escape_label, "\xff\xc3\xbc|<", REPLACED "\xc3\xbc|<");
}
