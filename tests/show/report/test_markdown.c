/* Findings and comparisons as the comment of a pull request. */
#include "harness/show/report/markdown.h"

#include <math.h>

#include "tests/lib/fixture_comparison.h"
#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

static struct comparison change(const char *metric, enum finding_outcome outcome, bool gates)
{
    struct comparison comparison = fixture_slower;
    comparison.outcome = outcome;
    comparison.gates = gates;
    (void)snprintf(comparison.metric, sizeof(comparison.metric), "%s", metric);
    return comparison;
}

/* Free it. */
static char *print(const struct comparison *all, size_t n, const struct findings *findings)
{
    struct comparisons comparisons = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(comparisons_add(&comparisons, &all[i], NULL), 0);
    markdown_print_comparisons(&comparisons, findings, out);
    assert_int_equal(fclose(out), 0);
    comparisons_free(&comparisons);
    return text;
}

#define HEAD                                                                                       \
    "| verdict | metric | where | base | new | change | why |\n"                                   \
    "|---|---|---|---:|---:|---:|---|\n"
#define ROW(verdict, metric)                                                                       \
    "| **" verdict "** | `" metric                                                                 \
    "` | pipeline, partition, 2 workers | 200 items/s | 150 items/s | "                            \
    "-25.0% (-30% to -20%) | 25% slower. |\n"

/* Of an ab of three: what the third one did is not said of the second. */
TEST(markdown_names_each_of_several_variants)
{
    struct comparison all[] = {change("step_time", OUTCOME_SLOWER, true),
                               change("step_time", OUTCOME_SLOWER, true)};
    (void)snprintf(all[1].other, sizeof(all[1].other), "third");
    char *text = print(all, 2, NULL);
    assert_non_null(strstr(text, "| where | base | other |"));
    assert_non_null(strstr(text, "| new: pipeline, partition, 2 workers |"));
    assert_non_null(strstr(text, "| third: pipeline, partition, 2 workers |"));
    free(text);
}

TEST(markdown_tells_the_worst_first)
{
    const struct comparison all[] = {
        change("p99", OUTCOME_UNCLEAR, false),
        change("step_time", OUTCOME_SAME, true),
        change("throughput", OUTCOME_SLOWER, true),
    };
    char *text = print(all, 3, NULL);
    assert_string_equal(
        text,
        "**SLOWER**: Of the metrics that gate: 1 SLOWER, 1 SAME.\n"
        "\n" HEAD ROW("SLOWER", "throughput")
            ROW("SAME", "step_time") "\n<details><summary>Metrics that do not gate</summary>\n"
                                     "\n" HEAD ROW("UNCLEAR", "p99") "\n</details>\n");
    free(text);
}

TEST(markdown_verdict_is_that_of_the_whole)
{
    const struct comparison one = change("throughput", OUTCOME_SAME, true);
    const struct finding verdict = {
        .id = "verdict", .outcome = OUTCOME_SAME, .sentence = "Nothing changed."};
    const struct finding moved = {.id = "machine_moved",
                                  .severity = FINDING_DOUBT,
                                  .subject = "the machine",
                                  .sentence = "is 3% slower itself"};
    struct findings findings = {0};
    struct finding told;
    comparison_to_finding(&one, &told);
    assert_int_equal(findings_add(&findings, &told, NULL), 0);
    assert_int_equal(findings_add(&findings, &verdict, NULL), 0);
    assert_int_equal(findings_add(&findings, &moved, NULL), 0);
    char *text = print(&one, 1, &findings);
    assert_string_equal(
        text,
        "**SAME**: Nothing changed.\n"
        "\n" HEAD ROW("SAME",
                      "throughput") "\n<details><summary>What is to be known of it</summary>\n\n"
                                    "- Doubt: the machine: is 3% slower itself\n\n</details>\n");
    free(text);
    findings_free(&findings);
}

TEST(markdown_of_nothing_comparable)
{
    char *text = print(NULL, 0, NULL);
    assert_string_equal(text, "No metric that gates could be compared.\n");
    free(text);
    struct comparison missing = change("throughput", OUTCOME_MISSING, true);
    missing.ratio = missing.low = missing.high = missing.other_median = (double)NAN;
    text = print(&missing, 1, NULL);
    assert_non_null(strstr(text, "| 200 items/s | - | - | 25% slower. |\n"));
    free(text);
}

/* Dozens of counts that one side alone has say nothing that those that gate do not. */
TEST(markdown_leaves_out_what_is_missing_and_does_not_gate)
{
    const struct comparison all[] = {change("throughput", OUTCOME_MISSING, true),
                                     change("steal", OUTCOME_MISSING, false),
                                     change("p99", OUTCOME_SAME, false)};
    char *text = print(all, 2, NULL);
    assert_non_null(strstr(text, "| **MISSING** | `throughput` |"));
    assert_null(strstr(text, "steal"));
    assert_null(strstr(text, "<details>"));
    free(text);
    text = print(all, 3, NULL);
    assert_non_null(strstr(text, "| **SAME** | `p99` |"));
    assert_null(strstr(text, "steal"));
    assert_null(strstr(text, "left out"));
    free(text);
}

TEST(markdown_says_evidence_once)
{
    struct findings findings = {0};
    struct finding said = fixture_check("a", OUTCOME_FAIL);
    (void)snprintf(said.sentence, sizeof(said.sentence), "waits (z -50.7)");
    assert_int_equal(findings_add(&findings, &said, NULL), 0);
    char *text = fixture_printed(markdown_print_findings, &findings);
    assert_non_null(strstr(text, "z -50.7"));
    assert_null(strstr(strstr(text, "z -50.7") + 1, "z -50.7"));
    free(text);
    findings_free(&findings);
}

TEST(markdown_fits_into_a_comment)
{
    enum { MANY = 300, COMMENT = 65536 };
    static struct comparison all[MANY];
    for (size_t i = 0; i < MANY; i++) {
        all[i] = change("throughput", OUTCOME_SLOWER, i % 2);
        memset(all[i].reason, 'x', sizeof(all[i].reason) - 1);
    }
    char *text = print(all, MANY, NULL);
    assert_true(strlen(text) < COMMENT);
    assert_non_null(strstr(text, "\n110 more are left out.\n"));
    free(text);
}

/* A line begins a row, or what was meant to begin one, and has as many cells as the head. */
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

TEST(markdown_text_stays_in_its_cell)
{
    struct comparison hostile = change("x", OUTCOME_SLOWER, true);
    (void)snprintf(hostile.base, sizeof(hostile.base), "%.31s", fixture_hostile);
    (void)snprintf(hostile.arm, sizeof(hostile.arm), "%s", fixture_hostile);
    (void)snprintf(hostile.metric, sizeof(hostile.metric), "%s", fixture_hostile);
    (void)snprintf(hostile.unit, sizeof(hostile.unit), "a|b");
    (void)snprintf(hostile.reason, sizeof(hostile.reason), "%s", fixture_hostile);
    char *text = print(&hostile, 1, NULL);
    assert_cells(text, 8);
    assert_null(strchr(text, '\xff'));
    free(text);
}

TEST(markdown_lists_findings)
{
    struct findings findings = {0};
    struct finding check = fixture_check("a", OUTCOME_FAIL);
    const struct finding whole = {
        .id = "advice", .sentence = "1. is <b>best</b>.", .command = "contend place\n```"};
    assert_int_equal(findings_add(&findings, &check, NULL), 0);
    assert_int_equal(findings_add(&findings, &whole, NULL), 0);
    char *text = fixture_printed(markdown_print_findings, &findings);
    assert_string_equal(text, "- 1\\. is &lt;b&gt;best&lt;/b&gt;.\n"
                              "\n  To apply it:\n\n      contend place ```\n\n"
                              "- **FAIL** GPU 2: too slow (z -50.7)\n"
                              "\n  To apply it:\n\n      contend info\n\n");
    free(text);
    findings_free(&findings);
}
