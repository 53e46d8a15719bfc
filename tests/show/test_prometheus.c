/* Findings as Prometheus' text: families, distinct series, and intact labels. */
#include "harness/show/export.h"

#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

static void print(const struct findings *findings, FILE *out)
{
    static const char *const labels[] = {"host", fixture_hostile, "run", "r1", NULL};
    prometheus_print(findings, labels, out);
}

static void print_without_labels(const struct findings *findings, FILE *out)
{
    prometheus_print(findings, NULL, out);
}

static void assert_prints(const struct finding *all, size_t n, const char *expected)
{
    AUTO(findings) findings = {0};
    for (size_t i = 0; i < n; i++)
        findings_put(&findings, &all[i]);
    FREED char *text = fixture_printed(print_without_labels, &findings);
    assert_string_equal(text, expected);
}

#define CHECKS                                                                                     \
    "# HELP contend_check 0 where the check is FAIL, SLOWER or ERROR; none of one that judged "    \
    "nothing.\n"                                                                                   \
    "# TYPE contend_check gauge\n"
#define INFO                                                                                       \
    "# HELP contend_check_info How each check ended, and whom to ask.\n"                           \
    "# TYPE contend_check_info gauge\n"
#define VALUES                                                                                     \
    "# HELP contend_value The number that a check looked at, in its unit.\n"                       \
    "# TYPE contend_value gauge\n"
#define BOUNDS                                                                                     \
    "# HELP contend_bound What bounds contend_value.\n"                                            \
    "# TYPE contend_bound gauge\n"
#define GPU "id=\"a\",subject=\"GPU 2\",metric=\"busbw\""

TEST(prometheus_of_nothing_is_nothing)
{
    const struct finding note = {.id = "note", .sentence = "judges nothing"};
    assert_prints(NULL, 0, "");
    assert_prints(&note, 1, "");
}

TEST(prometheus_prints_value_and_bounds)
{
    struct finding check = fixture_check("a", OUTCOME_FAIL);
    check.high = INFINITY;
    assert_prints(&check, 1,
                  CHECKS "contend_check{" GPU "} 0\n" INFO "contend_check_info{" GPU
                         ",cause=\"hardware\",outcome=\"FAIL\"} 1\n" VALUES "contend_value{" GPU
                         ",unit=\"GB/s\"} 2.5\n" BOUNDS "contend_bound{" GPU
                         ",unit=\"GB/s\",bound=\"low\"} 3\n"
                         "contend_bound{" GPU ",unit=\"GB/s\",bound=\"high\"} +Inf\n");
}

TEST(prometheus_numbers_equal_series)
{
    struct finding checks[2] = {fixture_check("a", OUTCOME_PASS), fixture_check("a", OUTCOME_PASS)};
    for (int i = 0; i < 2; i++)
        checks[i].value = checks[i].low = (double)NAN;
    assert_prints(checks, 2,
                  CHECKS "contend_check{" GPU "} 1\n"
                         "contend_check{" GPU ",repeat=\"2\"} 1\n" INFO "contend_check_info{" GPU
                         ",cause=\"hardware\",outcome=\"PASS\"} 1\n"
                         "contend_check_info{" GPU
                         ",repeat=\"2\",cause=\"hardware\",outcome=\"PASS\"} 1\n");
}

/* The number of samples; -1 = none, since nothing was judged. */
static int value_of(const char *text, enum finding_outcome outcome)
{
    char start[128];
    put_text(start, "\ncontend_check{id=\"%s\",subject=\"GPU 2\",metric=\"busbw\"} ",
             finding_outcome_name(outcome));
    const char *at = strstr(text, start);
    return at ? at[strlen(start)] - '0' : -1;
}

TEST(prometheus_tells_what_failed_from_what_did_not_run)
{
    static const int values[OUTCOMES] = {
        [OUTCOME_PASS] = 1,     [OUTCOME_WARN] = 1,    [OUTCOME_FAIL] = 0, [OUTCOME_SKIP] = -1,
        [OUTCOME_ERROR] = 0,    [OUTCOME_FASTER] = 1,  [OUTCOME_SAME] = 1, [OUTCOME_SLOWER] = 0,
        [OUTCOME_UNCLEAR] = -1, [OUTCOME_MISSING] = -1};
    AUTO(findings) findings = fixture_all_outcomes();
    FREED char *text = fixture_printed(print_without_labels, &findings);
    for (int i = 1; i < OUTCOMES; i++) {
        char line[128];
        put_text(line, "outcome=\"%s\"} 1\n", finding_outcome_name((enum finding_outcome)i));
        assert_int_equal(value_of(text, (enum finding_outcome)i), values[i]);
        assert_has(text, line);
    }
}

static enum finding_outcome verdict;

static void print_verdict(const struct findings *findings, FILE *out)
{
    static const char *const labels[] = {"host", "a\"b", "run", "r1", NULL};
    (void)findings;
    prometheus_print_verdict(verdict, 1767225600, labels, out);
}

TEST(prometheus_has_the_whole_verdict_and_its_time)
{
    static const struct {
        enum finding_outcome outcome;
        const char *line;
    } cases[] = {{OUTCOME_PASS, "\ncontend_verdict{host=\"a\\\"b\",run=\"r1\"} 1\n"},
                 {OUTCOME_WARN, "} 1\n"},
                 {OUTCOME_FAIL, "} 0\n"},
                 {OUTCOME_ERROR, "} 0\n"},
                 {OUTCOME_SKIP, "} 0\n"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        verdict = cases[i].outcome;
        FREED char *text = fixture_printed(print_verdict, NULL);
        if (!strstr(text, cases[i].line) || !strstr(text, "_seconds{host=\"a\\\"b\",run=\"r1\"} "
                                                          "1767225600\n"))
            fail_msg("no '%s' in: %s", cases[i].line, text);
    }
}

/* Each line is a comment, or closes the quotes of its labels in the right places. */
static void assert_line_is_whole(const char *line)
{
    bool quoted = false;
    const char *at = strchr(line, '{');
    assert_non_null(at);
    for (; *at && (quoted || *at != '}'); at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
    }
    assert_true(at[0] == '}' && at[1] == ' ' && !strchr(at, '"'));
}

TEST(prometheus_labels_stay_labels)
{
    AUTO(findings) findings = {0};
    struct finding check = fixture_check("a", OUTCOME_WARN);
    put_text(check.subject, "%s", fixture_hostile);
    findings_put(&findings, &check);
    FREED char *text = fixture_printed(print, &findings);
    char *rest = NULL;
    assert_has(text, ",run=\"r1\",");
    assert_null(strchr(text, '\xff'));
    size_t lines = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[0] != '#') {
            assert_line_is_whole(line);
            lines++;
        }
    assert_int_equal(lines, 4); /* a check, its value and the value's lower bound */
}
