/* Waivers: parsed strictly, applied to their own unit alone, and valid until their date. */
#include "harness/validate/files.h"

#include "harness/validate/rules/rules.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static char path[256];

static int read_text(const char *text, struct waivers *waivers, struct err *err)
{
    fixture_put("/waivers.json", text);
    put_text(path, "%s/waivers.json", fixture_dir);
    return waivers_read(path, waivers, err);
}

static void refuses(const char *text, const char *message)
{
    AUTO(waivers) waivers;
    struct err err;
    assert_int_equal(read_text(text, &waivers, &err), -EINVAL);
    assert_has(err.msg, message);
}

TEST_IN_DIR(waivers_are_read)
{
    AUTO(waivers) waivers;
    assert_int_equal(read_text("[{\"rule\": \"nvlinks\", \"unit\": \"GPU 2\", \"reason\": \"12 by "
                               "design\", \"until\": \"2030-12-31\"},\n {\"rule\": \"memlock\", "
                               "\"reason\": \"{no RDMA [\", \"until\": \"2031-01-01\"}]",
                               &waivers, NULL),
                     0);
    assert_int_equal(waivers.n, 2);
    assert_string_equal(waivers.all[0].rule, "nvlinks");
    assert_string_equal(waivers.all[0].unit, "GPU 2");
    assert_string_equal(waivers.all[0].until, "2030-12-31");
    assert_int_equal(waivers.all[0].line, 1);
    assert_int_equal(waivers.all[1].line, 2);
    assert_string_equal(waivers.all[1].unit, "");
}

TEST_IN_DIR(waivers_are_refused_by_line)
{
    refuses("[{\"a\n", "waivers.json line 1: unexpected newline near '\"a'");
    refuses("[\n{\"rule\": \"memlock\", \"reason\": \"a \\\"{\\\" b\", \"until\": "
            "\"2030-01-01\"},\n"
            "\n{\"rule\": \"nvlinks\", \"until\": \"2030-01-01\"}]",
            "waivers.json line 4: the waiver of 'nvlinks' has no reason");
    refuses("[{\"rule\": \"nvlinks\", \"reason\": \"  \", \"until\": \"2030-01-01\"}]",
            "no reason");
    refuses("[{\"rule\": \"nvlink\", \"reason\": \"x\", \"until\": \"2030-01-01\"}]", "no rule");
    refuses("[{\"rule\": \"nvlinks\", \"reason\": \"x\", \"until\": \"1.1.2030\"}]",
            "lacks a date");
    refuses("[{\"rule\": \"nvlinks\", \"reason\": \"x\"}]", "lacks a date");
    refuses("[{\"rule\": \"nvlinks\", \"reason\": \"x\", \"until\": \"2030-13-01\"}]",
            "lacks a date");
    refuses("[{\"rule\": 1, \"reason\": \"x\", \"until\": \"2030-01-01\"}]",
            "line 1: Expected string, got integer");
    refuses("[{\"rule\": \"xid\", \"why\": \"x\", \"until\": \"2030-01-01\"}]",
            "left unpacked: why");
    refuses("{\"rule\": \"nvlinks\"}", "no array");
    refuses("[\n{\"rule\": }]", "waivers.json line 2:");
    refuses("[3]", "waivers.json line 1: Expected object, got integer");
}

TEST_IN_DIR(waivers_of_no_file)
{
    struct waivers waivers;
    struct err err;
    assert_int_equal(waivers_read("/nonexistent/w.json", &waivers, &err), -ENOENT);
    assert_has(err.msg, "/nonexistent/w.json");
}

TEST(waivers_apply_to_their_unit_and_day)
{
    struct waiver list[] = {
        {.rule = "nvlinks", .unit = "GPU 1", .reason = "by design", .until = "2030-06-15"},
        {.rule = "pcie_width", .unit = "0000:3b:00.0", .reason = "riser", .until = "2030-06-14"}};
    struct waivers waivers = {.n = 2, .all = list};
    struct finding all[] = {
        {.id = "nvlinks", .subject = "GPU 1 (0000:02:00.0)", .outcome = OUTCOME_FAIL},
        {.id = "nvlinks", .subject = "GPU 10 (0000:0b:00.0)", .outcome = OUTCOME_FAIL},
        {.id = "gpu_ecc", .subject = "GPU 1 (0000:02:00.0)", .outcome = OUTCOME_FAIL},
        {.id = "pcie_width",
         .subject = "NIC 0000:3b:00.0 (slot 2)",
         .outcome = OUTCOME_FAIL,
         .evidence = "x8"},
        {.id = "nvlinks", .subject = "GPU 1 (0000:02:00.0)", .outcome = OUTCOME_SKIP}};
    struct findings findings = {.n = 5, .all = all};
    waive_findings(&waivers, "2030-06-15", &findings);
    assert_int_equal(all[0].outcome, OUTCOME_WARN); /* on its last day */
    assert_string_equal(all[0].evidence, "waived until 2030-06-15: by design");
    assert_int_equal(all[1].outcome, OUTCOME_FAIL);
    assert_int_equal(all[2].outcome, OUTCOME_FAIL);
    assert_int_equal(all[3].outcome, OUTCOME_FAIL); /* expired the day before */
    assert_string_equal(all[3].evidence, "x8; its waiver expired on 2030-06-14: riser");
    assert_int_equal(all[4].outcome, OUTCOME_SKIP);
}

/* A waived failure does not fail a strict verdict, and neither does a waived warning. */
TEST(waived_findings_pass_strictly)
{
    struct waiver list[] = {
        {.rule = "governor", .reason = "batch system", .until = "2030-06-15"},
        {.rule = "pcie_width", .unit = "GPU 1", .reason = "riser", .until = "2030-06-15"}};
    struct waivers waivers = {.n = 2, .all = list};
    struct finding all[] = {{.id = "governor", .outcome = OUTCOME_WARN},
                            {.id = "pcie_width", .subject = "GPU 1", .outcome = OUTCOME_FAIL},
                            {.id = "pcie_width", .subject = "GPU 2", .outcome = OUTCOME_WARN}};
    struct findings findings = {.n = 2, .all = all};
    assert_int_equal(rules_verdict(&findings, true, "").rules, 2);
    waive_findings(&waivers, "2030-06-01", &findings);
    waive_findings(&waivers, "2030-06-01", &findings); /* reported once */
    assert_string_equal(all[0].evidence, "waived until 2030-06-15: batch system");
    assert_int_equal(rules_verdict(&findings, true, "").outcome, OUTCOME_PASS);
    assert_int_equal(rules_verdict(&findings, true, "").count[OUTCOME_WARN], 2);
    findings.n = 3;
    waive_findings(&waivers, "2030-06-01", &findings);
    struct rules_verdict verdict = rules_verdict(&findings, true, "");
    assert_int_equal(verdict.outcome, OUTCOME_FAIL);
    assert_int_equal(verdict.rules, 1);
    assert_int_equal(rules_verdict(&findings, false, "").outcome, OUTCOME_PASS);
}
