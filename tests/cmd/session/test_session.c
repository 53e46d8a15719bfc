/* A written round stays in the result, even if the run fails afterwards. */
#include "harness/cmd/session/session.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "harness/cmd/common/start.h"
#include "harness/cmd/subject.h"
#include "harness/verdict/runs/tune.h"
#include "tests/lib/fixture_dir.h"

static const struct bench *const benches[] = {NULL};
static const struct scenario scenarios[] = {{.name = NULL}};
static const struct cmd_env env = {.benches = benches, .scenarios = scenarios};

static int after_round(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err)
{
    (void)arg;
    (void)verdict;
    (void)result;
    return err_set(err, -ENOMEM, "the task is told to fail");
}

static void judge(const void *arg, const struct analysis *analysis, struct findings *findings)
{
    tune_judge(arg, analysis, findings);
}

/* Number of lines in a file. */
static size_t count_lines(const char *name)
{
    char path[256];
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        n += c == '\n';
    (void)fclose(file);
    return n;
}

static void test_session_keeps_the_round_before_a_failure(void **state)
{
    (void)state;
    char path[256];
    struct tune tune = {.max_time_s = 60, .tolerance = 0.05};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_TUNE, .add = tune_arrange, .arg = &tune},
        .after_round = after_round,
        .judge = judge};
    char *argv[] = {"contend",  "tune", "--workers",  "1",         "--placement", "passive",
                    "--time",   "0.01", "--max-time", "60",        "--out",       fixture_dir,
                    "--device", "sim",  "--",         "/bin/true", NULL};
    int argc =
        sizeof(argv) / sizeof(argv[0]) - 2; /* without the program's name and the final NULL */
    struct session s = {.env = &env, .task = &task, .argc = argc, .argv = argv + 1};
    const struct scenario *scenario;
    struct subject subject;
    int code;
    assert_true(subject_take_task(&s, &tune_command, &subject, &scenario, &code));
    assert_int_equal(session_run(&s, &scenario, 1), EXIT_NOT_RUN);
    tune_free(&tune);

    (void)snprintf(path, sizeof(path), "%s/run.json", fixture_dir);
    json_auto_t *record = json_load_file(path, 0, NULL);
    assert_non_null(record);
    assert_int_equal(json_integer_value(json_object_get(record, "rounds_done")), 1);
    assert_string_equal(json_string_value(json_object_get(record, "status")), "failed");
    assert_true(count_lines("samples.csv") > 1);
    assert_true(count_lines("rounds.csv") > 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_session_keeps_the_round_before_a_failure,
                                        fixture_make_dir, fixture_remove_dir),
    };
    int code;
    if (argc > 1 && start(&env, argc, argv, &code)) /* this process is a worker */
        return code;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
