/* Findings as JUnit XML: which are failures, and that XML parsers accept any text in them. */
#include "harness/show/export.h"

#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

static void print(const struct findings *findings, FILE *out)
{
    assert_int_equal(junit_print("validate", findings, out, NULL), 0);
}

static void print_hostile_suite(const struct findings *findings, FILE *out)
{
    assert_int_equal(junit_print(fixture_hostile, findings, out, NULL), 0);
}

TEST(junit_counts_each_outcome)
{
    AUTO(findings) findings = fixture_all_outcomes();
    FREED char *text = fixture_printed(print, &findings);
    assert_has(text, "tests=\"10\" failures=\"2\" errors=\"1\" skipped=\"3\"");
    assert_has(text, " name=\"GPU 2: PASS (busbw)\" time=\"0\"/>");
    assert_has(text, " name=\"GPU 2: WARN (busbw)\" time=\"0\"/>");
    assert_has(text, "<failure message=\"too slow\" type=\"FAIL\">FAIL: too slow\nvalue: 2.5 GB/s\n"
                     "low: 3 GB/s\nevidence: z -50.7\nclass: hardware\nto see more: contend info\n"
                     "</failure>");
    assert_has(text, "type=\"SLOWER\"");
    assert_has(text, "<error message=\"too slow\" type=\"ERROR\">");
    assert_has(text, "<skipped message=\"too slow\">SKIP: too slow\n");
    assert_has(text, "<skipped message=\"too slow\">MISSING: too slow\n");
    assert_has(text, "<system-out>GPU 2: WARN: too slow\n");
    assert_has(text, "<skipped message=\"too slow\">UNCLEAR: too slow\n");
}

TEST(junit_numbers_those_of_one_name)
{
    AUTO(findings) findings = {0};
    const struct finding other = fixture_check("b", OUTCOME_PASS);
    const struct finding check = fixture_check("a", OUTCOME_PASS);
    findings_put(&findings, &check);
    findings_put(&findings, &other);
    findings_put(&findings, &check);
    FREED char *text = fixture_printed(print, &findings);
    assert_has(text, " name=\"GPU 2: a (busbw)\"");
    assert_has(text, " name=\"GPU 2: b (busbw)\"");
    assert_has(text, " name=\"GPU 2: a (busbw) #2\"");
}

static void add_hostile(struct findings *findings, enum finding_outcome outcome)
{
    struct finding finding = fixture_check("hostile", outcome);
    put_text(finding.subject, "%s", fixture_hostile);
    put_text(finding.sentence, "%s", fixture_hostile);
    put_text(finding.evidence, "%s", fixture_hostile);
    put_text(finding.command, "%s", fixture_hostile);
    put_text(finding.metric, "%s", fixture_hostile);
    put_text(finding.unit, "%.8s", fixture_hostile);
    findings_put(findings, &finding);
}

/* Without xmllint only the check of these bytes is skipped, not the rest of the file's tests. */
static void assert_valid(const char *text)
{
    char command[256];
    fixture_put("/junit.xml", text);
    put_text(command, "xmllint --noout --nonet --schema tests/show/junit.xsd %s/junit.xml 2>&1",
             fixture_dir);
    assert_int_equal(system(command), 0);
}

TEST_IN_DIR(junit_is_valid_whatever_is_said)
{
    struct findings none = {0}, findings = fixture_all_outcomes();
    for (int i = 0; i < OUTCOMES; i++)
        add_hostile(&findings, (enum finding_outcome)i);
    FREED char *empty = fixture_printed(print, &none);
    FREED char *text = fixture_printed(print_hostile_suite, &findings);
    assert_lacks(text, "<script");
    assert_null(strchr(text, '\x01'));
    assert_null(strchr(text, '\xff'));
    if (system("command -v xmllint >/dev/null"))
        skip();
    assert_valid(empty);
    assert_valid(text);
    findings_free(&findings);
}

TEST(junit_says_that_it_could_not_be_written)
{
    struct findings none = {0};
    struct err err = {0};
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    assert_int_equal(junit_print("validate", &none, full, &err), -EIO);
    assert_string_equal(err.msg, "cannot write the JUnit file");
    (void)fclose(full);
}
