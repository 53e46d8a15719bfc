/* Options of a user's command: their checks, how they survive exec, and parsing of texts. */
#include "harness/engine/contract/command.h"
#include "tests/lib/unit.h"

TEST(command_is_named_by_what_is_compared)
{
    assert_string_equal(command_bench_name(&(struct command_options){0}), "command");
    assert_string_equal(command_bench_name(&(struct command_options){.by_lines = true}),
                        "command_lines");
    assert_string_equal(command_bench_name(&(struct command_options){.metric = "(1)"}),
                        "command_metric");
    assert_string_equal(
        command_bench_name(&(struct command_options){.metric_file = "m", .less_is_better = true}),
        "command_cost");
}

TEST(command_refuses_options_that_contradict)
{
    static const struct {
        struct command_options options;
        const char *said;
    } bad[] = {
        {{.by_lines = true, .metric = "(1)"}, "one of them"},
        {{.line = "x"}, "--line needs"},
        {{.less_is_better = true}, "--less-is-better needs"},
        {{.duration_s = 1}, "no time to compare"},
        {{.metric = "["}, "no regular expression"},
        {{.metric = "rate (\\d+)"}, "write [0-9]"},
        {{.metric = "rate ([\\d.]+)"}, "write 0-9"},
        {{.metric = "rate ([^]\\d])"}, "write 0-9"},
        {{.metric = "([[:digit:]\\w]+)"}, "write [:alnum:]_"},
        {{.metric = "a\\tb ([0-9]+)"}, "write [[:blank:]]"},
        {{.metric = "(?:a|b) ([0-9]+)"}, "around the number alone"},
        {{.by_lines = true, .line = "^\\d"}, "write [0-9]"},
        {{.metric = "1"}, "has 0 groups"},
        {{.metric = "(1)(2)"}, "has 2 groups"},
        {{.by_lines = true, .line = "("}, "no regular expression"},
        {{.unit = "s"}, "--unit needs"},
        {{.metric = "(1)", .unit = ""}, "a unit is 1 to 21 printable"},
        {{.metric = "(1)", .unit = "1234567890123456789012"}, "a unit is 1 to 21 printable"},
        {{.metric = "(1)", .unit = "a\nb"}, "a unit is"},
        {{.metric = "(1)", .unit = "\033[2J"}, "a unit is"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        assert_int_equal(command_check(&bad[i].options, &err), -EINVAL);
        assert_has(err.msg, bad[i].said);
    }
    static const char *const right[] = {"\\w+\\s([0-9]+)", "\\\\d([0-9])",    "\\(?([0-9]+)",
                                        "[(?]([0-9])",     "[]d]([0-9]+)\\.", "[[:digit:]]([0-9])"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        struct err none = {0};
        if (command_check(&(struct command_options){.metric = right[i]}, &none))
            fail_msg("%s", none.msg);
    }
    struct err err = {0};
    const struct command_options good = {
        .metric = "([0-9.]+) im/s", .unit = "123456789012345678901", .duration_s = 1};
    assert_int_equal(command_check(&good, &err), 0);
}

TEST(command_has_the_unit_of_what_is_compared)
{
    assert_null(command_rate_unit(&(struct command_options){.metric = "(1)"}));
    assert_string_equal(command_rate_unit(&(struct command_options){.unit = "images/s"}),
                        "images/s");
    const struct command_options cost = {.unit = "123456789012345678901", .less_is_better = true};
    assert_string_equal(command_rate_unit(&cost), "1/123456789012345678901");
}

TEST(command_crosses_exec_as_it_is)
{
    char *argv[] = {"sh", "-c", "echo '--metric=x' \n--", "", NULL};
    const struct user_command said = {
        .options = {.metric = "a \"(b)\"", .duration_s = 0.1, .grace_s = 2.5, .unit = "x y"},
        .output = "/tmp/a b",
        .sets_threads = true,
        .env = {.n = 2, .text = {"A=1", "B=x y=z"}},
        .argv = argv};
    struct user_command got;
    char **words = command_words(&said, 2);
    assert_non_null(words);
    int n = 0;
    while (words[2 + n])
        n++;
    assert_int_equal(command_read(n, words + 2, &got, NULL), 0);
    assert_string_equal(got.options.metric, said.options.metric);
    assert_true(got.options.duration_s == 0.1 && got.options.grace_s == 2.5);
    assert_string_equal(got.options.unit, "x y");
    assert_null(got.options.line);
    assert_false(got.options.by_lines);
    assert_string_equal(got.output, said.output);
    assert_true(got.sets_threads);
    assert_int_equal(got.env.n, 2);
    assert_string_equal(got.env.text[1], "B=x y=z");
    for (size_t i = 0; argv[i]; i++)
        assert_string_equal(got.argv[i], argv[i]);
    assert_null(got.argv[4]);
    command_words_free(words, 2);
}

TEST(command_needs_words_behind_the_dashes)
{
    char *none[] = {"--output=x", "--", NULL}, *no_dashes[] = {"true", NULL};
    struct user_command got;
    assert_int_equal(command_read(2, none, &got, NULL), -EINVAL);
    assert_int_equal(command_read(1, no_dashes, &got, NULL), -EINVAL);
}

TEST(command_splits_as_a_shell_and_expands_nothing)
{
    static const struct {
        const char *text;
        const char *words[5];
    } cases[] = {
        {"a b", {"a", "b"}},
        {"  a\t b \n", {"a", "b"}},
        {"'a b' \"c d\"", {"a b", "c d"}},
        {"a\\ b \\'", {"a b", "'"}},
        {"'\\' \"\\\"\\x\"", {"\\", "\"\\x"}},
        {"x'' \"\"", {"x", ""}},
        {"$HOME `id` *", {"$HOME", "`id`", "*"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char **words = command_split(cases[i].text, NULL);
        assert_non_null(words);
        size_t n = 0;
        for (; words[n] && cases[i].words[n]; n++)
            assert_string_equal(words[n], cases[i].words[n]);
        assert_true(!words[n] && !cases[i].words[n]);
        command_words_free(words, 0);
    }
}

TEST(command_splits_no_open_quote)
{
    static const char *const bad[] = {"", "  ", "a 'b", "\"", "a \"b'"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        assert_null(command_split(bad[i], &err));
        assert_true(strstr(err.msg, "not closed") || strstr(err.msg, "is empty"));
    }
}
