/* harness/verdict/verdict.c: how much the machine changed; other code ignores the control's
 * rows. */
#include "harness/verdict/verdict.h"

#include "tests/lib/fixture_findings.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static const struct bench_metric metrics[] = {
    {"canary_integer", "ns", "lower"},
    {"canary_copy", "GB/s", "higher"},
    {"canary_time", "us", "lower"},
    {.name = NULL},
};
static const struct bench bench = {
    .name = "canary",
    .ops_unit = "",
    .metrics = metrics,
    .dims = (const struct bench_dim[]){{""}, {"gpu", DIM_GPU}, {.name = NULL}},
    .scan = fixture_no_scan};

enum { ROUNDS = 3 };

/* Rounds differ by 1%; the copy also changes by `spread` in the last round. */
static void put_values(struct worker_result *worker, unsigned round, double copy, double spread)
{
    double jitter = 1 + 0.01 * round;
    const struct value values[] = {
        {.metric = 0, .value = 0.25 * jitter},
        {.metric = 1, .value = copy * jitter * (round == ROUNDS - 1 ? spread : 1)},
        {.metric = 2, .value = 200, .dims = DIMS({1, 3})},
    };
    worker->values = malloc(sizeof(values));
    assert_non_null(worker->values);
    memcpy(worker->values, values, sizeof(values));
    worker->nvalues = sizeof(values) / sizeof(values[0]);
}

/* The run of fixture_demo with a control after its arms. */
static void make_run(struct result *result, double copy, double spread)
{
    fixture_demo(result);
    size_t arm = fixture_add_arm(result, PLACE_NONE, 1, false);
    result->arms[arm].bench = &bench;
    result->arms[arm].params = NULL;
    result->arms[arm].is_control = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct observation *of = fixture_add_even_round(result, arm, round, 100, 1);
        put_values(&of->workers[0], round, copy, spread);
    }
}

TEST(control_says_how_the_machine_moved)
{
    const struct dims none = NO_DIMS, third = DIMS({1, 3});
    assert_string_equal(control_format("canary_copy", &none, 0.88), "copy of memory: 12% slower");
    assert_string_equal(control_format("canary_integer", &none, 1.003),
                        "integer loop: 0.3% slower");
    assert_string_equal(control_format("canary_time", &third, 1), "kernel on GPU 3: 0.01% faster");
}

/* Tables, recommendation and figures are the same as without the control. */
TEST(control_changes_nothing_else)
{
    struct result with, without;
    make_run(&with, 10, 1);
    fixture_demo(&without);
    FREED char *text = fixture_print(&with, false), *want = fixture_print(&without, false);
    assert_string_equal(text, want);
    JUDGED(verdict, &with);
    size_t rows = 0;
    for (size_t i = 0; i < verdict.analysis.rows.n; i++)
        rows += !strcmp(verdict.analysis.rows.row[i].role, "canary");
    assert_int_equal(rows, 3);
    struct result own;
    struct analysis measured = analysis_measured(&verdict.analysis, &own);
    assert_int_equal(own.narms, without.narms);
    assert_int_equal(measured.rows.n, verdict.analysis.rows.n - 3);
    assert_int_equal(measured.values.n, verdict.analysis.values.n - (size_t)3 * ROUNDS);
    fixture_result_free(&with);
    fixture_result_free(&without);
}

TEST(control_that_moved_is_said)
{
    ENDED_BY(fixture_result_free) struct result result;
    make_run(&result, 10, 0.5);
    JUDGED(verdict, &result);
    const struct finding *moved = fixture_finding(&verdict.findings, "machine_moved");
    assert_non_null(moved);
    assert_int_equal(moved->severity, FINDING_NOTE);
    assert_string_equal(moved->sentence,
                        "changed by 98% from round to round (copy of memory, 1 of 3 rounds)");
    verdict_free(&verdict);
    fixture_result_free(&result);
    make_run(&result, 10, 0.9);
    assert_int_equal(verdict_make(&result, NULL, &verdict, NULL), 0);
    assert_null(fixture_finding(&verdict.findings, "machine_moved"));
}
