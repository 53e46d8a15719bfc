/* Findings through JSON and back, and JSON of another form. */
#include "harness/record/json_value.h"
#include "tests/lib/unit.h"

static const struct finding full = {.id = "unit_odd",
                                    .severity = FINDING_BAD,
                                    .subject = "GPU 2 (0000:00:08.0)",
                                    .sentence = "14.1 GB/s is 0.25 of its peers' 56.9 GB/s",
                                    .evidence = "ratio 0.248, z -50.7, 4 units",
                                    .command = "contend info"};
static const struct finding bare = {
    .id = "advice", .severity = FINDING_NOTE, .sentence = "partition is best."};

static const struct finding judged = {.id = "change_throughput",
                                      .severity = FINDING_BAD,
                                      .subject = "pipeline, partition, 2 workers",
                                      .sentence = "8% slower",
                                      .outcome = OUTCOME_SLOWER,
                                      .cause = "configuration",
                                      .metric = "throughput",
                                      .unit = "ratio",
                                      .value = 0.75,
                                      .low = 0.5,
                                      .high = (double)NAN};

/* As text of its own; the caller frees it. */
static char *dump(const struct finding *finding)
{
    struct findings findings = {0};
    findings_put(&findings, finding);
    json_t *json = findings_to_json(&findings);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    json_decref(json);
    findings_free(&findings);
    return text;
}

static struct findings parse(const char *text)
{
    struct findings findings;
    json_error_t why;
    json_t *json = json_loads(text, 0, &why);
    if (!json)
        fail_msg("%s: %s", why.text, text);
    findings_from_json(json, &findings);
    json_decref(json);
    return findings;
}

static void assert_same(const struct finding *a, const struct finding *b)
{
    assert_string_equal(a->id, b->id);
    assert_int_equal(a->severity, b->severity);
    assert_string_equal(a->subject, b->subject);
    assert_string_equal(a->sentence, b->sentence);
    assert_string_equal(a->evidence, b->evidence);
    assert_string_equal(a->command, b->command);
    assert_int_equal(a->outcome, b->outcome);
    assert_string_equal(a->cause, b->cause);
    assert_string_equal(a->metric, b->metric);
    assert_string_equal(a->unit, b->unit);
}

TEST(findings_json_keeps_outcome_and_bounds)
{
    FREED char *text = dump(&judged);
    assert_has(text, "\"outcome\":\"SLOWER\",\"cause\":\"configuration\","
                     "\"metric\":\"throughput\",\"unit\":\"ratio\","
                     "\"value\":0.75,\"low\":0.5,\"high\":null}");
    AUTO(findings) back = parse(text);
    assert_int_equal(back.n, 1);
    assert_same(&judged, &back.all[0]);
    assert_true(back.all[0].value == 0.75 && back.all[0].low == 0.5 && isnan(back.all[0].high));
}

TEST(findings_json_form)
{
    char *text = dump(&full);
    assert_string_equal(text, "[{\"id\":\"unit_odd\",\"severity\":\"bad\","
                              "\"subject\":\"GPU 2 (0000:00:08.0)\","
                              "\"sentence\":\"14.1 GB/s is 0.25 of its peers' 56.9 GB/s\","
                              "\"evidence\":\"ratio 0.248, z -50.7, 4 units\","
                              "\"command\":\"contend info\"}]");
    free(text);
    text = dump(&bare);
    assert_string_equal(text, "[{\"id\":\"advice\",\"severity\":\"note\",\"subject\":null,"
                              "\"sentence\":\"partition is best.\",\"evidence\":null,"
                              "\"command\":null}]");
    free(text);
}

TEST(findings_json_of_none)
{
    const struct findings none = {0};
    struct findings findings;
    json_t *json = findings_to_json(&none);
    assert_true(json_is_array(json));
    assert_int_equal(json_array_size(json), 0);
    json_decref(json);
    json = findings_to_json(NULL);
    assert_true(json_is_array(json));
    json_decref(json);
    findings_from_json(NULL, &findings);
    assert_int_equal(findings.n, 0);
}

/* Texts of the greatest length, in all severities, in order. */
TEST(findings_json_round_trip)
{
    struct findings before = {0}, after;
    struct finding longest = {.id = "x", .severity = FINDING_DOUBT};
    memset(longest.id, 'i', sizeof(longest.id) - 1);
    memset(longest.subject, 's', sizeof(longest.subject) - 1);
    memset(longest.sentence, 't', sizeof(longest.sentence) - 1);
    memset(longest.evidence, 'e', sizeof(longest.evidence) - 1);
    memset(longest.command, 'c', sizeof(longest.command) - 1);
    for (unsigned i = 0; i < 30; i++)
        findings_put(&before, i % 3 == 0 ? &full : i % 3 == 1 ? &longest : &bare);
    json_t *json = findings_to_json(&before);
    findings_from_json(json, &after);
    assert_int_equal(after.n, before.n);
    for (size_t i = 0; i < before.n; i++)
        assert_same(&after.all[i], &before.all[i]);
    json_decref(json);
    findings_free(&before);
    findings_free(&after);
}

/* Names of processes may have any bytes, and a truncated name may end within a character. */
TEST(findings_json_of_hostile_text)
{
    struct finding hostile = {.id = "gpu_processes", .severity = FINDING_BAD};
    put_text(hostile.subject, "\xc3\xa9 \xff\xfe \xc3");
    put_text(hostile.sentence, "\"},{\\\n\t\033[31m \xed\xa0\x80");
    put_text(hostile.command, "\x80");
    FREED char *text = dump(&hostile);
    AUTO(findings) findings = parse(text);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.all[0].subject, "\xc3\xa9 ?? ?");
    assert_string_equal(findings.all[0].sentence, "\"},{\\\n\t\033[31m ???");
    assert_string_equal(findings.all[0].command, "?");
}

/* Members of another form are left out, and texts that are too long are truncated. */
TEST(findings_json_of_another_form)
{
    static const char *const none[] = {
        "{}",
        "{\"severity\": \"bad\"}",
        "[]",
        "[null, 1, \"bad\", [], {}]",
        "[{\"id\": \"x\", \"sentence\": \"without a severity\"}]",
        "[{\"severity\": \"worse\"}, {\"severity\": \"\"}, {\"severity\": 2}]",
    };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        AUTO(findings) findings = parse(none[i]);
        assert_int_equal(findings.n, 0);
    }
    AUTO(findings)
    findings = parse("[7, {\"severity\": \"doubt\", \"id\": 5, \"subject\": {}, "
                     "\"sentence\": [\"x\"], \"command\": true}, null]");
    assert_int_equal(findings.n, 1);
    assert_same(&findings.all[0], &(struct finding){.severity = FINDING_DOUBT});
}

TEST(findings_json_cut_what_is_too_long)
{
    char text[3000], word[2000];
    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    put_text(text,
             "[{\"severity\": \"bad\", \"id\": \"%.400s\", \"sentence\": "
             "\"%s\"}]",
             word, word);
    AUTO(findings) findings = parse(text);
    assert_int_equal(findings.n, 1);
    assert_int_equal(strlen(findings.all[0].id), sizeof(findings.all[0].id) - 1);
    assert_int_equal(strlen(findings.all[0].sentence), sizeof(findings.all[0].sentence) - 1);
    assert_string_equal(findings.all[0].subject, "");
}
