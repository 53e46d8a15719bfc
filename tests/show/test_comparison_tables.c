/* Comparisons as a person reads them: which rows, where, and how wide. */
#include "harness/show/comparison.h"

#include "tests/lib/fixture_comparison.h"
#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

enum { COLUMNS = 80 };

/* Replaces runs of blanks by one blank. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || from[1] != ' ')
            *to++ = *from;
    *to = '\0';
}

enum form { TERMINAL, COLOR, ALL, MARKDOWN, HTML };

/* The caller frees the text. */
static char *print(const struct comparison *all, size_t n, enum form form)
{
    AUTO(comparisons) comparisons = {0};
    AUTO(doc) doc = {0};
    char *text = NULL;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(comparisons_add(&comparisons, &all[i], NULL), 0);
    FILE *out = unit_print_into(&text);
    comparisons_add_to_doc(&comparisons, &doc);
    assert_false(doc.failed);
    if (form == MARKDOWN)
        doc_print_markdown(&doc, out);
    else if (form == HTML)
        doc_print_html(&doc, out);
    else
        doc_print(&doc, out, form == COLOR, form == ALL);
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(comparison_table_has_arm_numbers_and_interval)
{
    struct comparison large = fixture_slower;
    large.evidence.base = 1048000;
    large.evidence.other = 933000;
    large.evidence.ratio = 0.8903;
    large.evidence.low = 0.85;
    large.evidence.high = 0.93;
    FREED char *text = print(&large, 1, ALL);
    assert_string_equal(text, "verdict  metric                 base    new  change       interval\n"
                              "pipeline, partition, 2 workers\n"
                              "SLOWER   throughput, items/s  1.05 M  933 k  -11.0%  -15% to -7.0%\n"
                              "          25% slower.\n");
}

/*
 * Fourteen characters hold the whole interval: truncated, "300x to 446x" would read as 300 to 4. It
 * has the notation of the change, and the omitted "unchanged" is taken into account.
 */
TEST(comparison_table_shows_whole_intervals)
{
    static const struct {
        double low, ratio, high;
        const char *shown;
    } all[] = {{1.6e-5, 0.156, 1.9, " 0.156x <.01x to 1.9x\n"},
               {0.03, 0.98, 35.4, " 0.98x 0.03x to 35x\n"}, /* printed as -97..+3440% before */
               {5, 1e4, 3e6, " 10000x 5x to >9kx\n"},
               {1.007, 1.895, 3.57, " 1.90x 1.01x to 3.6x\n"},
               {0.4, 0.6, 0.99996, " 0.60x 0.4x to 0.99x\n"},
               {0.95, 0.975, 0.9998, " -2.5% -5.0 to -0.02%\n"},
               {0.9996, 0.9997, 0.99996, " -0.03% -0.1 to -0.01%\n"},
               {0.51, 0.9, 1.99, " -10.0% -49% to +99%\n"},
               {1.0001, 2.1, 3.9, " 2.1x 1.01x to 3.9x\n"},
               {1.0001, 1.0003, 1.0004, " +0.03% +0.01 to +0.1%\n"},
               {1, 1, 1, " +0.0% +0.0% to +0.0%\n"}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct comparison one = fixture_slower;
        one.evidence.low = all[i].low;
        one.evidence.ratio = all[i].ratio;
        one.evidence.high = all[i].high;
        FREED char *text = print(&one, 1, TERMINAL);
        squeeze(text);
        assert_has(text, all[i].shown);
    }
}

TEST(comparison_table_hides_what_does_not_gate)
{
    struct comparison two[] = {fixture_slower, fixture_slower};
    two[1].gating = false;
    (void)strcpy(two[1].metric, "helper_cpu");
    FREED char *text = print(two, 2, TERMINAL);
    assert_lacks(text, "helper_cpu");
    free(text);
    text = print(two, 2, ALL);
    assert_has(text, "helper_cpu");
    free(text);
    assert_string_equal(text = print(&two[1], 1, TERMINAL), "");
}

TEST(comparison_table_explains_and_stays_narrow)
{
    struct comparison wide = fixture_slower;
    wide.evidence.ratio = 0.011;
    wide.evidence.low = 0.0051;
    wide.evidence.high = 0.023;
    (void)memset(wide.metric, 'm', sizeof(wide.metric) - 1);
    (void)memset(wide.base, 'b', sizeof(wide.base) - 1);
    put_text(wide.reason, "%s",
             "A long sentence that says why, in more words than fit into one line of a "
             "terminal, so that it has to be wrapped.");
    FREED char *text = print(&wide, 1, ALL);
    assert_has(text, "so that it has to be");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= COLUMNS);
    assert_lacks(text, "\033");
}

TEST(comparison_table_of_one_side_has_no_ratio)
{
    struct comparison missing = fixture_slower;
    missing.evidence.outcome = OUTCOME_MISSING;
    missing.evidence.other = missing.evidence.ratio = missing.evidence.low = missing.evidence.high =
        (double)NAN;
    FREED char *text = print(&missing, 1, COLOR);
    assert_has(text, "\033[31mMISSING\033[0m");
    assert_lacks(text, "nan");
    assert_has(text, " -\n");
    assert_lacks(text, " \n");
}

static struct comparison change(const char *metric, enum finding_outcome outcome, bool gating)
{
    struct comparison comparison = fixture_slower;
    comparison.evidence.outcome = outcome;
    comparison.gating = gating;
    put_text(comparison.metric, "%s", metric);
    return comparison;
}

/* Each pair of sides has a table, so results of the third variant do not appear under the
 * second. */
TEST(comparison_names_each_of_several_variants)
{
    struct comparison all[] = {change("step_time", OUTCOME_SLOWER, true),
                               change("step_time", OUTCOME_SLOWER, true)};
    put_text(all[1].other, "third");
    FREED char *text = print(all, 2, MARKDOWN);
    const char *second = strstr(text, "| metric | base | third |");
    assert_has(text, "| metric | base | new |");
    assert_non_null(second);
    assert_has(second, "| *pipeline, partition, 2 workers* |");
}

#define HEAD                                                                                       \
    "\n| verdict | metric | base | new | change | interval | why |\n"                              \
    "|---|---|---:|---:|---:|---:|---|\n| *pipeline, partition, 2 workers* | | | | | | |\n"
#define ROW(verdict, metric)                                                                       \
    "| " verdict " | `" metric                                                                     \
    ", items/s` | 200 | 150 | \\-25.0% | \\-30% to -20% | 25% slower. |\n"

TEST(comparison_tells_the_worst_first)
{
    const struct comparison all[] = {
        change("p99", OUTCOME_UNCLEAR, false),
        change("step_time", OUTCOME_SAME, true),
        change("throughput", OUTCOME_SLOWER, true),
    };
    FREED char *text = print(all, 3, MARKDOWN);
    assert_string_equal(
        text,
        HEAD ROW("**SLOWER**", "throughput") ROW(
            "SAME", "step_time") "\n"
                                 "<details><summary>Metrics that do not gate</summary>\n" HEAD ROW(
                                     "UNCLEAR", "p99") "\n</details>\n");
}

/* Dozens of counts that only one side has add nothing to those that gate. */
TEST(comparison_leaves_out_what_is_missing_and_does_not_gate)
{
    const struct comparison all[] = {change("throughput", OUTCOME_MISSING, true),
                                     change("steal", OUTCOME_MISSING, false),
                                     change("p99", OUTCOME_SAME, false)};
    FREED char *text = print(all, 2, MARKDOWN);
    assert_has(text, "| **MISSING** | `throughput, items/s` |");
    assert_lacks(text, "steal");
    assert_lacks(text, "<details>");
    free(text);
    text = print(all, 3, ALL);
    assert_has(text, "p99");
    assert_lacks(text, "steal");
}

TEST(comparison_is_escaped_in_html)
{
    struct comparison hostile = fixture_slower;
    put_text(hostile.base, "<old>");
    put_text(hostile.arm, "%s", fixture_hostile);
    put_text(hostile.reason, "%s", fixture_hostile);
    FREED char *text = print(&hostile, 1, HTML);
    assert_has(text, "<th scope=\"col\">&lt;old&gt;</th>");
    assert_has(text, "<span class=\"bad\">SLOWER</span>");
    assert_lacks(text, "<script");
    assert_null(strchr(text, '\x01'));
}

TEST(comparison_fits_into_a_comment)
{
    enum { MANY = 300, COMMENT = 65536 };
    static struct comparison all[MANY];
    for (size_t i = 0; i < MANY; i++) {
        all[i] = change("throughput", OUTCOME_SLOWER, i % 2);
        memset(all[i].reason, 'x', sizeof(all[i].reason) - 1);
    }
    FREED char *text = print(all, MANY, MARKDOWN);
    assert_true(strlen(text) < COMMENT);
    assert_has(text, "\n110 more are left out.\n");
}

/* Each line is a row, or tried to be one, and has as many cells as the head. */
static void assert_cells(const char *text, size_t expected)
{
    size_t cells = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '|' && (at == text || at[-1] != '\\'))
            cells++;
        if (*at != '\n')
            continue;
        assert_true(cells == 0 || cells == expected);
        cells = 0;
    }
}

TEST(comparison_text_stays_in_its_cell)
{
    struct comparison hostile = change("x", OUTCOME_SLOWER, true);
    put_text(hostile.base, "%.31s", fixture_hostile);
    put_text(hostile.arm, "%s", fixture_hostile);
    put_text(hostile.metric, "%s", fixture_hostile);
    put_text(hostile.unit, "a|b");
    put_text(hostile.reason, "%s", fixture_hostile);
    FREED char *text = print(&hostile, 1, MARKDOWN);
    assert_cells(text, 8);
    assert_null(strchr(text, '\xff'));
}
