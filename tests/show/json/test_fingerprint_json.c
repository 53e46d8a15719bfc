/* Fingerprints through JSON and back, and files that are no fingerprints. */
#include "harness/show/json/forms.h"

#include "tests/lib/unit.h"

static const struct fingerprint full = {.host = "node7",
                                        .started = "2026-01-31T12:00:00Z",
                                        .cpu_model = "a CPU",
                                        .gpu_model = "a GPU",
                                        .key = "0123456789abcdef",
                                        .kind = "fedcba9876543210",
                                        .cpus = 32,
                                        .gpus = 2,
                                        .n = 3,
                                        .value = {{.part = "cpu",
                                                   .name = "integer",
                                                   .unit = "ns",
                                                   .less_is_better = true,
                                                   .value = 0.25,
                                                   .low = 0.24,
                                                   .high = 0.27,
                                                   .rounds = 5},
                                                  {.part = "cpu load",
                                                   .name = "cpu=20%",
                                                   .unit = "ratio",
                                                   .is_retention = true,
                                                   .value = 0.8,
                                                   .low = (double)NAN,
                                                   .high = (double)NAN,
                                                   .rounds = 1},
                                                  {.part = "copies",
                                                   .name = "h2d",
                                                   .unit = "GB/s",
                                                   .value = (double)NAN,
                                                   .low = (double)NAN,
                                                   .high = (double)NAN,
                                                   .reason = "there is no GPU"}}};

static void assert_number(double got, double want)
{
    assert_true(isnan(want) ? isnan(got) : got == want);
}

static int parse(const char *text, struct fingerprint *print, struct err *err)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    int rc = fingerprint_from_json(json, print, err);
    json_decref(json);
    return rc;
}

TEST(fingerprint_goes_through_json_and_back)
{
    struct fingerprint back;
    json_t *json = fingerprint_to_json(&full, "1.2.3");
    char *text = json_dumps(json, JSON_REAL_PRECISION(17));
    assert_non_null(text);
    assert_has(text, "\"reason\": \"there is no GPU\"");
    json_decref(json);
    assert_int_equal(parse(text, &back, NULL), 0);
    free(text);
    assert_string_equal(back.host, full.host);
    assert_string_equal(back.started, full.started);
    assert_string_equal(back.cpu_model, full.cpu_model);
    assert_string_equal(back.gpu_model, full.gpu_model);
    assert_string_equal(back.key, full.key);
    assert_string_equal(back.kind, full.kind);
    assert_int_equal(back.cpus, 32);
    assert_int_equal(back.gpus, 2);
    assert_int_equal(back.n, full.n);
    for (size_t i = 0; i < full.n; i++) {
        const struct fingerprint_value *got = &back.value[i], *want = &full.value[i];
        assert_string_equal(got->part, want->part);
        assert_string_equal(got->name, want->name);
        assert_string_equal(got->unit, want->unit);
        assert_string_equal(got->reason, want->reason);
        assert_int_equal(got->is_retention, want->is_retention);
        assert_int_equal(got->less_is_better, want->less_is_better);
        assert_int_equal(got->rounds, want->rounds);
        assert_number(got->value, want->value);
        assert_number(got->low, want->low);
        assert_number(got->high, want->high);
    }
}

TEST(fingerprint_refuses_other_json)
{
    static const struct {
        const char *text, *message;
    } cases[] = {{"[]", "its schema is not"},
                 {"{\"schema\": \"contend-bounds\", \"schema_version\": 1}", "its schema is not"},
                 {"{\"schema\": \"contend-fingerprint\"}", "its schema is not"},
                 {"{\"schema\": \"contend-fingerprint\", \"schema_version\": 2}", "newer contend"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fingerprint print;
        struct err err = {0};
        assert_int_equal(parse(cases[i].text, &print, &err), -EINVAL);
        assert_has(err.msg, cases[i].message);
    }
}

/* As many values as fit, and values that are no objects. */
TEST(fingerprint_takes_what_there_is_room_for)
{
    struct fingerprint print;
    json_t *values = json_array();
    for (int i = 0; i < 2 * FINGERPRINT_VALUES; i++)
        (void)json_array_append_new(values, json_integer(i));
    json_t *json = json_pack("{s:s, s:i, s:o}", "schema", "contend-fingerprint", "schema_version",
                             1, "values", values);
    assert_int_equal(fingerprint_from_json(json, &print, NULL), 0);
    json_decref(json);
    assert_int_equal(print.n, FINGERPRINT_VALUES);
    assert_true(isnan(print.value[0].value));
}

TEST(fingerprint_distance_is_json)
{
    struct fingerprint_distance distance;
    fingerprint_compare(&full, &full, &distance);
    json_t *json = fingerprint_distance_to_json(&distance);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "same");
    assert_int_equal(json_array_size(json_object_get(json, "values")), 2);
    json_decref(json);
    fingerprint_compare(&(struct fingerprint){0}, &full, &distance);
    json = fingerprint_distance_to_json(&distance);
    assert_true(json_is_null(json_object_get(json, "verdict")));
    assert_true(json_is_null(json_object_get(json, "distance")));
    json_decref(json);
}
