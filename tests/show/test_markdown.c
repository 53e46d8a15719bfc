/* Findings as the comment of a pull request. */
#include "harness/show/doc.h"

#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

static void print(const struct findings *findings, FILE *out)
{
    AUTO(doc) doc = {0};
    doc_findings(&doc, findings, DOC_LEADING);
    doc_findings(&doc, findings, DOC_REST);
    doc_print_markdown(&doc, out);
}

TEST(markdown_says_evidence_once)
{
    AUTO(findings) findings = {0};
    struct finding said = fixture_check("a", OUTCOME_FAIL);
    put_text(said.sentence, "waits (z -50.7)");
    findings_put(&findings, &said);
    FREED char *text = fixture_printed(print, &findings);
    assert_has(text, "z -50.7");
    assert_lacks(strstr(text, "z -50.7") + 1, "z -50.7");
}

TEST(markdown_lists_findings)
{
    AUTO(findings) findings = {0};
    struct finding check = fixture_check("a", OUTCOME_FAIL);
    const struct finding whole = {
        .id = "advice", .sentence = "1. is <b>best</b>.", .command = "contend place\n```"};
    findings_put(&findings, &check);
    findings_put(&findings, &whole);
    FREED char *text = fixture_printed(print, &findings);
    assert_string_equal(text, "\n1\\. is &lt;b&gt;best&lt;/b&gt;.\n"
                              "\n  To apply it:\n\n      contend place ```\n\n"
                              "\n<details><summary>Findings</summary>\n\n"
                              "- **FAIL** GPU 2: too slow (z -50.7)\n"
                              "\n  To apply it:\n\n      contend info\n\n"
                              "\n</details>\n");
}
