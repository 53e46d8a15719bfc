/* harness/verdict/runs/canary.c: how far the machine moved; and that nothing else looks at those
 * rows.
 */
#include "harness/verdict/runs/canary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/verdict/advice/verdict.h"
#include "tests/lib/fixture_result.h"

static const struct bench_metric metrics[] = {
    {"canary_integer", "ns", "lower"},
    {"canary_copy", "GB/s", "higher"},
    {"canary_time", "us", "lower"},
    {.name = NULL},
};
static const struct bench bench = {
    .name = "canary", .ops_unit = "", .metrics = metrics, .scan = fixture_no_scan};

enum { ROUNDS = 3 };

/* Rounds differ by 1%; the copy by `spread` in the last one. */
static void put_values(struct worker_result *worker, unsigned round, double copy, double spread)
{
    double jitter = 1 + 0.01 * round;
    const struct value values[] = {
        {.metric = 0, .value = 0.25 * jitter},
        {.metric = 1, .value = copy * jitter * (round == ROUNDS - 1 ? spread : 1)},
        {.metric = 2, .value = 200, .key = "gpu=3"},
    };
    worker->values = malloc(sizeof(values));
    assert_non_null(worker->values);
    memcpy(worker->values, values, sizeof(values));
    worker->nvalues = sizeof(values) / sizeof(values[0]);
}

/* The run of fixture_demo with a canary behind its arms. */
static void make_run(struct result *result, double copy, double spread)
{
    fixture_demo(result);
    size_t arm = fixture_add_arm(result, PLACE_NONE, 1, false);
    result->arms[arm].bench = &bench;
    result->arms[arm].params = NULL;
    result->arms[arm].canary = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct observation *of = fixture_add_even_round(result, arm, round, 100, 1);
        put_values(&of->workers[0], round, copy, spread);
    }
}

struct run {
    struct result result;
    struct analysis analysis;
};

static const struct analysis *open_run(struct run *run, double copy)
{
    make_run(&run->result, copy, 1);
    assert_int_equal(analysis_make(&run->result, &run->analysis, NULL), 0);
    return &run->analysis;
}

static void close_run(struct run *run)
{
    analysis_free(&run->analysis);
    fixture_result_free(&run->result);
}

static void test_canary_tells_what_moved(void **state)
{
    (void)state;
    struct run base, other;
    struct canary_moves moves;
    char text[128];
    const struct analysis *before = open_run(&base, 10), *after = open_run(&other, 8.8);
    assert_int_equal(canary_compare(&before, 1, &after, 1, &moves, NULL), 0);
    assert_int_equal(moves.n, 3);
    const struct canary_move *most = canary_largest(&moves);
    assert_non_null(most);
    assert_string_equal(most->metric, "canary_copy");
    assert_near(most->ratio, 0.88);
    assert_near(most->low, 8.8 / 10.2);
    assert_near(most->high, 8.8 * 1.02 / 10);
    assert_true(canary_is_beyond(most, 0.1));
    assert_false(canary_is_beyond(most, 0.12)); /* its nearer end is 11% away */
    assert_string_equal(canary_say(most, text, sizeof(text)), "copy of memory: 12% slower");
    assert_string_equal(moves.all[2].key, "gpu=3");
    assert_string_equal(canary_say(&moves.all[2], text, sizeof(text)),
                        "kernel on GPU 3: 0.01% faster");
    canary_moves_free(&moves);
    close_run(&base);
    close_run(&other);
}

/* Of equal runs, of any number a side. */
static void test_canary_of_a_steady_machine_is_nothing(void **state)
{
    (void)state;
    struct run runs[3];
    struct canary_moves moves;
    const struct analysis *all[3];
    for (int i = 0; i < 3; i++)
        all[i] = open_run(&runs[i], 10);
    assert_int_equal(canary_compare(all, 2, all + 2, 1, &moves, NULL), 0);
    assert_int_equal(moves.n, 3);
    assert_null(canary_largest(&moves));
    canary_moves_free(&moves);
    for (int i = 0; i < 3; i++)
        close_run(&runs[i]);
}

/* One run of an earlier version, or with --no-canary. */
static void test_canary_of_one_side_only_is_nothing(void **state)
{
    (void)state;
    struct run run, bare;
    struct canary_moves moves;
    const struct analysis *with = open_run(&run, 10), *without = &bare.analysis;
    fixture_demo(&bare.result);
    assert_int_equal(analysis_make(&bare.result, &bare.analysis, NULL), 0);
    assert_int_equal(canary_compare(&with, 1, &without, 1, &moves, NULL), 0);
    assert_int_equal(moves.n, 0);
    assert_int_equal(canary_compare(&without, 1, &with, 1, &moves, NULL), 0);
    assert_int_equal(moves.n, 0);
    assert_null(canary_largest(&moves));
    canary_moves_free(&moves);
    close_run(&run);
    close_run(&bare);
}

/* Tables, advice and figures are those of a run without it. */
static void test_canary_changes_nothing_else(void **state)
{
    (void)state;
    struct result with, without;
    struct verdict verdict;
    make_run(&with, 10, 1);
    fixture_demo(&without);
    char *text = fixture_print(&with, false), *want = fixture_print(&without, false);
    assert_string_equal(text, want);
    free(text);
    free(want);
    assert_int_equal(verdict_make(&with, NULL, &verdict, NULL), 0);
    size_t rows = 0;
    for (size_t i = 0; i < verdict.analysis.rows.n; i++)
        rows += !strcmp(verdict.analysis.rows.row[i].role, "canary");
    assert_int_equal(rows, 3);
    struct result own;
    struct analysis measured = analysis_measured(&verdict.analysis, &own);
    assert_int_equal(own.narms, without.narms);
    assert_int_equal(measured.rows.n, verdict.analysis.rows.n - 3);
    assert_int_equal(measured.values.n, verdict.analysis.values.n - (size_t)3 * ROUNDS);
    verdict_free(&verdict);
    fixture_result_free(&with);
    fixture_result_free(&without);
}

static const struct finding *moved_among(const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->findings.n; i++)
        if (!strcmp(verdict->findings.all[i].id, "machine_moved"))
            return &verdict->findings.all[i];
    return NULL;
}

static void test_canary_that_moved_is_said(void **state)
{
    (void)state;
    struct result result;
    struct verdict verdict;
    make_run(&result, 10, 0.5);
    assert_int_equal(verdict_make(&result, NULL, &verdict, NULL), 0);
    const struct finding *moved = moved_among(&verdict);
    assert_non_null(moved);
    assert_int_equal(moved->severity, FINDING_NOTE);
    assert_string_equal(moved->sentence,
                        "moved by 98% from round to round (copy of memory, 1 of 3 rounds)");
    verdict_free(&verdict);
    fixture_result_free(&result);
    make_run(&result, 10, 0.9);
    assert_int_equal(verdict_make(&result, NULL, &verdict, NULL), 0);
    assert_null(moved_among(&verdict));
    verdict_free(&verdict);
    fixture_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canary_tells_what_moved),
        cmocka_unit_test(test_canary_of_a_steady_machine_is_nothing),
        cmocka_unit_test(test_canary_of_one_side_only_is_nothing),
        cmocka_unit_test(test_canary_changes_nothing_else),
        cmocka_unit_test(test_canary_that_moved_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
