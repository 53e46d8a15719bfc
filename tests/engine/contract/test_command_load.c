#include "harness/engine/contract/command_load.h"

#include <errno.h>

#include "tests/lib/unit.h"

#define METRICS(...)                                                                               \
    .metric = {.text = {__VA_ARGS__},                                                              \
               .n = sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)}
#define SERVER .load = "x", .ready = "tcp:1"

/* 'rate=([0-9.]+)' alone was an expression before metrics had names. */
TEST(command_metrics_have_names_only_beside_others_or_of_a_client)
{
    struct command_metric all[COMMAND_METRICS_MOST];
    assert_int_equal(command_metrics(&(struct command_options){METRICS("rate=(1)")}, all), 1);
    assert_string_equal(all[0].name, "");
    assert_string_equal(all[0].regex, "rate=(1)");
    assert_int_equal(command_metrics(&(struct command_options){METRICS("rate=(1)"), SERVER}, all),
                     1);
    assert_string_equal(all[0].name, "rate");
    assert_string_equal(all[0].regex, "(1)");
    const struct command_options several = {METRICS("\"GET\"=(1)", "p99=x=(2)", "p_5=(3)", "9=(4)"),
                                            .less_is_better = "p99,p_5"};
    static const struct command_metric want[] = {{"", "\"GET\"=(1)", false},
                                                 {"p99", "x=(2)", true},
                                                 {"p_5", "(3)", true},
                                                 {"", "9=(4)", false}};
    assert_int_equal(command_metrics(&several, all), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(all[i].name, want[i].name);
        assert_string_equal(all[i].regex, want[i].regex);
        assert_int_equal(all[i].less_is_better, want[i].less_is_better);
    }
    assert_false(command_first_is_cost(&several));
    const struct command_options cost = {METRICS("ms=(1)", "p5=(2)"), .less_is_better = ""};
    assert_int_equal(command_metrics(&cost, all), 2);
    assert_true(all[0].less_is_better && !all[1].less_is_better);
    assert_string_equal(command_rate_unit(&cost), "1/ms");
}

TEST(command_load_refuses_what_it_cannot_take)
{
    static const struct {
        struct command_options options;
        const char *said;
    } bad[] = {
        {{METRICS("a=(1)", "(2)")}, "'(2)' needs a name"},
        {{METRICS("a=(1)", "a=(2)")}, "two are called 'a'"},
        {{METRICS("a=(1)", "b=2")}, "'2' has 0 groups"},
        {{METRICS("a23456789012345678901=(1)"), SERVER}, "more than 20 letters"},
        {{METRICS("a=(1)", "b=(2)"), .less_is_better = "b,c"}, "is called 'c'; known: a,b"},
        {{METRICS("a=(1)"), .less_is_better = "a"}, "is called 'a'; known: none"},
        {{METRICS("a=(1)", "b=(2)"), .slo = "c<=3"},
         "'--slo': no --metric is called 'c'; known: a,b"},
        {{.slo = "c<=3"}, "known: none"},
        {{METRICS("a=(1)", "b=(2)"), .metric_file = "m"}, "one --metric"},
        {{METRICS("(1)", "a=(1)", "b=(1)", "c=(1)", "d=(1)", "e=(1)", "f=(1)", "g=(1)", "h=(1)")},
         "at most 8"},
        {{.ready = "tcp:1"}, "need --load"},
        {{.load_cores = 1}, "need --load"},
        {{.load = "x"}, "--load needs --ready"},
        {{.by_lines = true, SERVER}, "one of them"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        assert_int_equal(command_check(&bad[i].options, &err), -EINVAL);
        assert_has(err.msg, bad[i].said);
    }
}

TEST(command_load_reads_when_a_server_is_ready)
{
    static const struct {
        const char *text;
        int by;
        unsigned port;
        const char *rest, *said; /* said: of an error */
    } cases[] = {
        {"tcp:6379", READY_TCP, 6379, ""},
        {"http://localhost:8000/health?x", READY_HTTP, 8000, "/health?x"},
        {"http://127.0.0.1/a", READY_HTTP, 80, "/a"},
        {"http:http://127.0.0.1:9", READY_HTTP, 9, "/"},
        {"line:up (at|on)", READY_LINE, 0, "up (at|on)"},
        {"tcp:0", .said = "no port"},
        {"tcp:65536", .said = "no port"},
        {"tcp:80x", .said = "no port"},
        {"tcp: 80", .said = "no port"},
        {"http://localhost:x/", .said = "no port"},
        {"http://example.org/", .said = "not on this machine"},
        {"http://localhost.org/", .said = "not on this machine"},
        {"https://localhost/", .said = "is not tcp:PORT"},
        {"6379", .said = "is not tcp:PORT"},
        {"line:(", .said = "no regular expression"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct command_ready ready;
        struct err err = {0};
        assert_int_equal(command_ready_parse(cases[i].text, &ready, &err),
                         cases[i].said ? -EINVAL : 0);
        if (cases[i].said) {
            assert_has(err.msg, cases[i].said);
            continue;
        }
        assert_int_equal(ready.by, cases[i].by);
        assert_int_equal(ready.port, cases[i].port);
        assert_string_equal(ready.text, cases[i].rest);
    }
}

TEST(command_load_emits_names_then_the_client)
{
    struct bench_metric metrics[COMMAND_BENCH_METRICS];
    const struct command_options options = {METRICS("(1)", "p99=(2)"), SERVER, .unit = "x",
                                            .less_is_better = "p99"};
    size_t timed;
    assert_int_equal(command_bench_metrics(&options, metrics, &timed), 1);
    assert_string_equal(metrics[0].name, "p99");
    assert_string_equal(metrics[0].better, "lower");
    assert_int_equal(metrics[0].over, OVER_MOST);
    assert_string_equal(metrics[1 + CLIENT_SHARE].name, "client_share");
    assert_int_equal(timed, 1 + CLIENT_METRICS);
    assert_string_equal(metrics[0].unit, "");
    assert_string_equal(metrics[timed].name, "p99");
    assert_string_equal(metrics[timed].unit, "s");
    assert_null(metrics[timed + 1].name);
    assert_int_equal(
        command_bench_metrics(&(struct command_options){METRICS("(1)")}, metrics, &timed), 0);
    assert_null(metrics[0].name);
}
