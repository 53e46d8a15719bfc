/* {worker} and similar in a user's command: what is replaced, refused or left alone. */
#include "harness/plan/placeholders.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

static const struct placeholder_values values = {{[PLACEHOLDER_WORKER] = "1",
                                                  [PLACEHOLDER_GPU] = "3",
                                                  [PLACEHOLDER_WORKERS] = "4",
                                                  [PLACEHOLDER_CPUS] = "0-3,8",
                                                  [PLACEHOLDER_NODE] = "0"}};

TEST(placeholders_are_replaced)
{
    static const struct {
        const char *text, *expanded;
    } cases[] = {
        {"", ""},
        {"train.py", "train.py"},
        {"{worker}", "1"},
        {"--rank={worker}/{workers}", "--rank=1/4"},
        {"cuda:{gpu} {cpus} {node}{node}", "cuda:3 0-3,8 00"},
        {"{}", "{}"},
        {"{0} {a1} {a-b} {a b}", "{0} {a1} {a-b} {a b}"},
        {"{\"lr\": {\"a\": 1}, \"w\": {worker}}", "{\"lr\": {\"a\": 1}, \"w\": 1}"},
        {"${worker} ${HOME}", "${worker} ${HOME}"},
        {"{{worker}} {{print}}", "{worker} {print}"},
        {"{{{worker}}}", "{{worker}}"},
        {"{{worker}", "{1"},
        {"{worker", "{worker"},
        {"worker} {", "worker} {"},
        {"{{}} {{ worker }}", "{{}} {{ worker }}"},
        {"\xc3\xa9{worker}\n", "\xc3\xa9"
                               "1\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        FREED char *expanded = placeholders_expand(cases[i].text, &values, &err);
        if (!expanded)
            fail_msg("%s: %s", cases[i].text, err.msg);
        assert_string_equal(expanded, cases[i].expanded);
    }
}

TEST(placeholders_refuse_what_is_not_known)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{wroker}", "unknown placeholder {wroker}; did you mean 'worker'? known: {worker}, {gpu}"},
        {"a {gpu} {print}", "unknown placeholder {print}; known: "},
        {"{rank}", "{{rank}} stands for {rank} itself"},
        {"{Worker}", "unknown placeholder {Worker}"},
        {"{_}", "unknown placeholder {_}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        assert_null(placeholders_expand(cases[i].text, &values, &err));
        assert_int_equal(err.code, -EINVAL);
        assert_has(err.msg, cases[i].says);
    }
    struct err err = {0};
    struct placeholder_values bare = values;
    bare.of[PLACEHOLDER_GPU] = "";
    assert_null(placeholders_expand("--device {gpu}", &bare, &err));
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.msg, "the command asks for {gpu}, and worker 1 has none");
}

TEST(placeholders_use)
{
    assert_true(placeholders_use("a {worker} {gpu}", PLACEHOLDER_GPU));
    assert_false(placeholders_use("a {worker} {{gpu}} ${gpu} {gpus} gpu", PLACEHOLDER_GPU));
    assert_false(placeholders_use("{workers}", PLACEHOLDER_WORKER));
}

TEST(placeholders_of_a_plan)
{
    static const struct {
        const char *machine, *gpus;
        enum placement placement;
        unsigned worker;
        const char *text, *expanded;
    } cases[] = {
        {"package:2 numa:1 core:4 pu:1", "81:00.0@1,01:00.0@0", PLACE_GPU_LOCAL, 0,
         "{worker}/{workers} {gpu} {cpus} {node}", "0/2 1 4-7 1"},
        {"package:2 numa:1 core:4 pu:1", "81:00.0@1,01:00.0@0", PLACE_GPU_LOCAL, 1,
         "{worker}/{workers} {gpu} {node}", "1/2 0 0"},
        {"package:2 numa:1 core:4 pu:1", NULL, PLACE_NONE, 0, "{cpus} {node}", "0-7 0-1"},
        {"package:1 core:6 pu:1", NULL, PLACE_PARTITION, 2,
         "{worker} {workers} {threads} {cpus} {node}", "2 2 2 4-5 0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(topo) topo = fixture_topo(cases[i].machine, cases[i].gpus);
        const struct plan_request request = {
            .placement = cases[i].placement, .workers = 2, .background = 1};
        AUTO(plan) plan;
        struct err err = {0};
        struct placeholder_values of = {0};
        assert_int_equal(plan_make(&topo, &request, &plan, &err), 0);
        placeholders_of(&topo, &plan, cases[i].worker, &of);
        FREED char *expanded = placeholders_expand(cases[i].text, &of, &err);
        if (!expanded)
            fail_msg("case %zu: %s", i, err.msg);
        assert_string_equal(expanded, cases[i].expanded);
    }
}

/* numactl refuses to bind to a node whose memory is not allowed. */
TEST(placeholders_name_memory_that_may_be_used)
{
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:4 pu:1", NULL);
    const struct plan_request request = {.placement = PLACE_PARTITION, .workers = 2};
    struct placeholder_values of = {0};
    AUTO(plan) plan;
    topo.nodes[1].allowed = false;
    assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
    placeholders_of(&topo, &plan, 1, &of);
    assert_string_equal(of.of[PLACEHOLDER_CPUS], "4-7");
    assert_string_equal(of.of[PLACEHOLDER_NODE], "0");
}
