#include "harness/engine/contract/neighbours.h"

#include <errno.h>

#include "tests/lib/unit.h"

#define JOBS(...)                                                                                  \
    (&(const struct opt_texts){.text = {__VA_ARGS__},                                              \
                               .n = sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)})

TEST(neighbours_have_commands_options_and_metrics_of_their_own)
{
    struct neighbours jobs = {0};
    struct err err = {0};
    unsigned index;
    if (neighbours_parse(JOBS("server=--ready tcp:1 --load 'client -x \"a b\"' "
                              "--metric 'p99=p (.*)' --less-is-better p99 -- ./serve -- '1 2'",
                              "batch=-n 3 --share 0.5 -- prep"),
                         &jobs, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(jobs.n, 2);
    assert_int_equal(neighbours_workers(&jobs), 4);
    assert_string_equal(jobs.all[0].options.load, "client -x \"a b\"");
    assert_string_equal(jobs.all[0].argv[2], "1 2");
    assert_null(jobs.all[0].argv[3]);
    assert_string_equal(jobs.all[1].argv[0], "prep");
    assert_true(jobs.all[1].share > 0.49 && jobs.all[1].share < 0.51);
    assert_string_equal(jobs.metrics[jobs.all[0].first].name, "server_p99");
    assert_string_equal(jobs.metrics[jobs.all[0].first].better, "lower");
    assert_string_equal(jobs.metrics[jobs.all[0].kept].name, "server_kept");
    assert_int_equal(jobs.all[0].rate, jobs.all[0].kept); /* the user named one */
    assert_string_equal(jobs.metrics[jobs.all[1].rate].name, "batch_rate");
    assert_string_equal(jobs.metrics[jobs.all[1].rate].unit, "runs/s");
    assert_string_equal(jobs.metrics[jobs.fairness].name, "fairness");
    assert_ptr_equal(neighbour_of(&jobs, 0, 0, NULL), &jobs.all[0]);
    assert_ptr_equal(neighbour_of(&jobs, 0, 3, &index), &jobs.all[1]);
    assert_int_equal(index, 2);
    assert_ptr_equal(neighbour_of(&jobs, 2, 1, &index), &jobs.all[1]);
    assert_int_equal(index, 1);
    neighbours_free(&jobs);
}

TEST(neighbours_find_the_job_of_a_metric)
{
    struct neighbours jobs = {0};
    struct err err = {0};
    assert_int_equal(
        neighbours_parse(JOBS("a=-- x", "a_b=--metric 'p=(1)' --metric 'q=(2)' -- y"), &jobs, &err),
        0);
    assert_ptr_equal(neighbours_find(&jobs, "a_rate", &err), &jobs.all[0]);
    assert_ptr_equal(neighbours_find(&jobs, "a_b_q", &err), &jobs.all[1]);
    assert_null(neighbours_find(&jobs, "a_kept", &err)); /* relative to alone already */
    assert_has(err.msg, "'--protect': no job has a metric 'a_kept'; known: a_rate, a_b_p, a_b_q");
    assert_null(neighbours_find(&jobs, "fairness", &err));
    neighbours_free(&jobs);
}

TEST(neighbours_refuse_what_is_no_job)
{
    static const struct {
        const char *job, *said;
    } bad[] = {
        {"-- x", "is NAME="},
        {"Batch=-- x", "is NAME="},
        {"a2345678901234=-- x", "is NAME="},
        {"a=-- x", "a: two are called so"},
        {"b=-n 2", "b: no command after '--'"},
        {"b=x -- y", "b: 'x' is no option"},
        {"b=--help -- y", "b: '--help' is no option"},
        {"b=--load x -- y", "b: --load needs --ready"},
        {"b=-- 'x", "a quote is not closed"},
        {"b=-n 512 -- x", "513 workers"},
        {"b=-P none -- x", "b: unknown option"},
        {"b=--metric 'p=(1)' --slo 'p<=2' -- x", "b: --slo is not"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct neighbours jobs = {0};
        struct err err = {0};
        if (neighbours_parse(JOBS("a=-- x", bad[i].job), &jobs, &err) != -EINVAL ||
            !strstr(err.msg, bad[i].said))
            fail_msg("%s: '%s', not '%s'", bad[i].job, err.msg, bad[i].said);
        neighbours_free(&jobs);
    }
    struct neighbours jobs = {0};
    struct err err = {0};
    assert_int_equal(neighbours_parse(JOBS("a=-- x"), &jobs, &err), -EINVAL);
    neighbours_free(&jobs);
}
