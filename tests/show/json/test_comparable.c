/* What makes results incomparable, by their run.json, and what permits the comparison. */
#include "harness/show/json/comparable.h"
#include "tests/lib/unit.h"

static const char same[] =
    "{'version': '1', 'machine': {'key': 'aa'}, 'environment': {'cpu_model': 'X', 'kernel': '6.1',"
    " 'nccl': null, 'governor': null, 'cgroup': {'cpu_max': null, 'cpus_limit': null}}, "
    "'topology': {'cpus': {'count': 16, 'allowed': '0-15'},"
    " 'gpus': [{'name': 'H100'}]}, 'options': {'profile': 'quick', 'time': 0}}";

/* The record with its one `from` replaced by `to`; single quotes stand for double ones. */
static json_t *record_with(const char *from, const char *to)
{
    char text[1024] = "";
    const char *at = from[0] ? strstr(same, from) : same;
    assert_non_null(at);
    put_text(text, "%.*s%s%s", (int)(at - same), same, to, at + strlen(from));
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *record = json_loads(text, 0, NULL);
    assert_non_null(record);
    return record;
}

struct checked {
    char refused[400];
    struct findings findings;
};

static struct checked check(const char *from, const char *to, const char *allowed)
{
    struct checked checked = {0};
    json_auto_t *base = record_with("", ""), *other = record_with(from, to);
    const struct comparable sides[] = {{"base", base}, {"base", base}, {"new", other}};
    comparable_check(sides, 3, allowed, checked.refused, sizeof(checked.refused),
                     &checked.findings);
    return checked;
}

TEST(comparable_refuses_what_differs)
{
    static const struct differing {
        const char *from, *to, *what;
    } all[] = {
        {"'aa'", "'bb'", "machine"},
        {"'X'", "'Y'", "machine"},
        {"16", "32", "machine"},
        {"'H100'", "'H200'", "machine"},
        {"0-15", "0-7", "cpus"},
        {"'cpus_limit': null", "'cpus_limit': 2", "cpus"},
        {"6.1", "6.2", "kernel"},
        {"'nccl': null", "'nccl': '2.28'", "nccl"},
        {"'governor': null", "'governor': 'x'", "governor"},
        {"'version': '1'", "'version': '2'", "contend"},
        {"quick", "full", "options"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct checked refused = check(all[i].from, all[i].to, NULL);
        struct checked allowed = check(all[i].from, all[i].to, all[i].what);
        assert_int_equal(refused.findings.n, 1);
        assert_int_equal(refused.findings.all[0].severity, FINDING_DOUBT);
        assert_has(refused.refused, all[i].what);
        assert_string_equal(allowed.refused, "");
        assert_int_equal(allowed.findings.n, 1);
        assert_int_equal(allowed.findings.all[0].severity, FINDING_NOTE);
        findings_free(&refused.findings);
        findings_free(&allowed.findings);
    }
}

/* A cgroup has a file for the quota only while some process sets one; "max" in it is no limit. */
TEST(comparable_takes_no_quota_for_what_it_is)
{
    struct checked checked = check("'cpu_max': null", "'cpu_max': 'max 100000'", NULL);
    assert_string_equal(checked.refused, "");
    assert_int_equal(checked.findings.n, 0);
}

/* In long lists of CPUs and GPUs, differences at the end count as well. */
TEST(comparable_sees_differences_far_behind)
{
    static const char from[] = "'allowed': '0-15'";
    char list[2][400];
    size_t used = (size_t)snprintf(list[0], sizeof(list[0]), "'allowed': '0");
    for (unsigned cpu = 2; cpu < 120; cpu += 2)
        used += (size_t)snprintf(list[0] + used, sizeof(list[0]) - used, ",%u", cpu);
    memcpy(list[1], list[0], sizeof(list[1]));
    (void)snprintf(list[0] + used, sizeof(list[0]) - used, ",121'");
    (void)snprintf(list[1] + used, sizeof(list[1]) - used, ",122'");
    json_auto_t *base = record_with(from, list[0]), *other = record_with(from, list[1]);
    const struct comparable sides[] = {{"base", base}, {"new", other}};
    struct checked checked = {0};
    comparable_check(sides, 2, NULL, checked.refused, sizeof(checked.refused), &checked.findings);
    assert_has(checked.refused, "cpus");
    assert_int_equal(checked.findings.n, 1);
    assert_has(checked.findings.all[0].sentence, ",118,121 in base, ..");
    assert_has(checked.findings.all[0].sentence, ",118,122 in new");
    findings_free(&checked.findings);
}

TEST(comparable_calls_options_that_were_not_given_default)
{
    struct checked checked = check("'time': 0", "'time': 0.2", NULL);
    assert_int_equal(checked.findings.n, 1);
    assert_has(checked.findings.all[0].sentence, "default in base, 0.2 in new: ");
    findings_free(&checked.findings);
}

/* Another way to count a command's work makes another measurement; another command is only
 * reported. */
TEST(comparable_tells_commands_apart)
{
    static const char plain[] = "'options': {'profile': 'quick', 'time': 0}";
    static const char *const sides_of[][2] = {
        {"'options': {'metric': 'acc=([0-9.]+)'}", "'options': {'metric': 'loss=([0-9.]+)'}"},
        {"'options': {'metric': null}", "'options': {'metric': 'loss=([0-9.]+)'}"},
        {"'options': {'steps-by-lines': false}", "'options': {'steps-by-lines': true}"},
        {"'options': {'line': 'step'}", "'options': {'line': 'epoch'}"},
        {"'options': {'less-is-better': false}", "'options': {'less-is-better': true}"},
        {"'command': ['contend', 'run', '-n', '1', '--', 'sh', 'a']",
         "'command': ['contend', 'run', '-n', '1', '--', 'sh', 'b']"},
        {"'command': ['contend', 'run', '-o', 'x', '--', 'sh', 'a']",
         "'command': ['contend', 'run', '-o', 'y', '--', 'sh', 'a']"},
        {"'command': ['contend', 'run', '-o', 'x']", "'command': ['contend', 'run', '-o', 'y']"},
    };
    for (size_t i = 0; i < sizeof(sides_of) / sizeof(sides_of[0]); i++) {
        json_auto_t *base = record_with(plain, sides_of[i][0]);
        json_auto_t *other = record_with(plain, sides_of[i][1]);
        const struct comparable sides[] = {{"base", base}, {"new", other}};
        struct checked checked = {0};
        comparable_check(sides, 2, NULL, checked.refused, sizeof(checked.refused),
                         &checked.findings);
        assert_int_equal(checked.refused[0] != '\0', i < 5);
        assert_int_equal(checked.findings.n, i < 6);
        if (i == 5)
            assert_string_equal(checked.findings.all[0].sentence, "sh a in base, sh b in new");
        assert_int_equal(
            strcmp(comparable_format_measure(base), comparable_format_measure(other)) != 0, i < 5);
        findings_free(&checked.findings);
    }
}

TEST(comparable_does_not_count_what_a_record_lacks)
{
    struct checked older = check("'machine': {'key': 'aa'}, ", "", NULL);
    struct checked equal = check("", "", NULL);
    assert_string_equal(older.refused, "");
    assert_int_equal(older.findings.n, 0);
    assert_int_equal(equal.findings.n, 0);
}

TEST(comparable_allows_all)
{
    struct checked both = check("6.1", "6.2", "all");
    assert_string_equal(both.refused, "");
    findings_free(&both.findings);
}
