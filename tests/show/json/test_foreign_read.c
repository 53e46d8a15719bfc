/* Results of SuperBench, nccl-tests and nvbandwidth as values, and their verdicts. */
#include "harness/show/json/foreign_read.h"

#include "harness/lib/text.h"
#include "tests/lib/unit.h"

/* Adds the JSON to a side. Returns what foreign_add does. */
static int add(const char *text, int side, struct foreign *foreign, struct err *err)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    int rc = foreign_add(json, side, foreign, err);
    json_decref(json);
    return rc;
}

static void added(const char *text, int side, struct foreign *foreign)
{
    struct err err;
    assert_int_equal(add(text, side, foreign, &err), 0);
}

static void refused(const char *text, const char *with)
{
    struct foreign foreign = {0};
    struct err err = {0};
    assert_int_equal(add(text, 0, &foreign, &err), -EINVAL);
    assert_non_null(strstr(err.msg, with));
    foreign_free(&foreign);
}

static void assert_value(const struct foreign_value *got, const char *arm, const char *metric,
                         const char *better, double value)
{
    assert_string_equal(got->arm, arm);
    assert_string_equal(got->metric, metric);
    assert_string_equal(got->better, better);
    assert_true(got->value == value || (isnan(got->value) && isnan(value)));
}

/* Compares, and checks that there is one pair, with this outcome and reason. */
static void assert_outcome(struct foreign *foreign, enum finding_outcome outcome,
                           const char *reason)
{
    struct comparisons comparisons = {0};
    struct err err;
    assert_int_equal(foreign_compare(foreign, 0.05, &comparisons, &err), 0);
    assert_int_equal(comparisons.n, 1);
    assert_int_equal(comparisons.all[0].evidence.outcome, outcome);
    assert_non_null(strstr(comparisons.all[0].reason, reason));
    comparisons_free(&comparisons);
    foreign_free(foreign);
}

/* A run of SuperBench with this value of a key. */
static void add_node(int side, const char *node, const char *key, double value,
                     struct foreign *foreign)
{
    added(str_fmt("{\"node\": \"%s\", \"%s\": %.17g}", node, key, value), side, foreign);
}

TEST(superbench_is_a_line_of_names)
{
    struct foreign foreign = {0};
    added("{\"node\": \"n1\", \"nccl-bw/allreduce_8_time:0\": 37.8, \"gpt/m/throughput\": 27,"
          " \"gemm-flops/FP64:1\": 9031, \"monitor/bw\": 4, \"x/y\": 5, \"x/none\": null, "
          "\"mem-bw/bandwidth_lat\": 6,"
          " \"k/return_code\": 0, \"k/return_code:1\": 5, \"plain\": 1}",
          0, &foreign);
    assert_string_equal(foreign.tool, "SuperBench");
    assert_int_equal(foreign.n, 8);
    assert_value(&foreign.all[0], "nccl-bw", "allreduce_8_time:0", "lower", 37.8);
    assert_value(&foreign.all[1], "gpt/m", "throughput", "higher", 27);
    assert_value(&foreign.all[2], "gemm-flops", "FP64:1", "higher", 9031);
    assert_value(&foreign.all[4], "x", "y", "", 5);
    assert_value(&foreign.all[5], "mem-bw", "bandwidth_lat", "lower", 6);
    assert_value(&foreign.all[6], "k", "return_code:1", "lower", (double)NAN);
    assert_string_equal(foreign.all[6].reason, "return code 5");
    assert_value(&foreign.all[7], "SuperBench", "plain", "", 1);
    foreign_free(&foreign);
}

static const char nccl[] =
    "{\"args\": [\"/opt/all_reduce_perf\", \"-J\"], \"env\": [\"TOKEN=secret\"],"
    " \"config\": {\"nthreads\": 1, \"ngpus\": 4, \"devices\": [{}, {}]}, \"results\": [{"
    "\"size\": 1024, \"type\": \"float\", \"redop\": \"sum\", \"root\": \"    -1\","
    " \"out_of_place\": {\"time\": 50.5, \"alg_bw\": 1, \"bus_bw\": 31.5, \"nwrong\": 0},"
    " \"in_place\": {\"time\": \"nan\", \"bus_bw\": 3, \"nwrong\": 24}}]}";

TEST(nccl_tests_have_times_and_rates)
{
    static const char arm[] = "all_reduce_perf, 8 ranks, float sum, root -1, 1024 B";
    struct foreign foreign = {0};
    added(nccl, 1, &foreign);
    assert_int_equal(foreign.n, 4);
    assert_value(&foreign.all[0], arm, "time", "lower", 50.5);
    assert_true(foreign.all[0].gating);
    assert_value(&foreign.all[1], arm, "bus_bw", "higher", 31.5);
    assert_false(foreign.all[1].gating);
    assert_value(&foreign.all[2], arm, "time in place", "lower", (double)NAN);
    assert_string_equal(foreign.all[2].reason, "24 wrong elements");
    foreign_free(&foreign);
}

TEST(nvbandwidth_has_matrices)
{
    struct foreign foreign = {0};
    added("{\"nvbandwidth\": {\"testcases\": ["
          "{\"name\": \"d2d\\u001b[1m\", \"status\": \"Passed\", \"bandwidth_description\":"
          " \"CE GPU(row) -> GPU(column) bandwidth (GB/s)\", \"bandwidth_matrix\":"
          " [[\"N/A\", \"276.5\"], [\"1e999\", \"5x\"]]},"
          "{\"name\": \"lat\", \"status\": \"Passed\", \"bandwidth_description\": \"SM (ns)\","
          " \"bandwidth_matrix\": [[\"600\"]]},"
          "{\"name\": \"bad\", \"status\": \"Error\"}, {\"name\": \"multi\", \"status\": "
          "\"Running\"}, {\"name\": \"multi\", \"status\": "
          "\"Waived\"}]}}",
          0, &foreign);
    assert_int_equal(foreign.n, 4);
    assert_value(&foreign.all[0], "d2d [1m", "bandwidth 0-1", "higher", 276.5);
    assert_value(&foreign.all[1], "d2d [1m", "bandwidth 1-0", "higher", INFINITY);
    assert_value(&foreign.all[2], "d2d [1m", "bandwidth 1-1", "higher", (double)NAN);
    assert_value(&foreign.all[3], "lat", "value 0-0", "lower", 600);
    foreign_free(&foreign);
}

TEST(others_are_refused)
{
    refused("{}", "of no known kind");
    refused("[1]", "of no known kind");
    refused("{\"node\": 5}", "of no known kind");
    refused("{\"node\": \"n\", \"a/b\": \"text\", \"a/c\": [[]]}", "a node without numbers");
    refused("{\"results\": [5, {\"size\": 8, \"out_of_place\": null}]}", "no result of a size");
    refused("{\"nvbandwidth\": {\"testcases\": {\"a\": 1}}}", "no test with a result");
    struct foreign foreign = {0};
    struct err err;
    added(nccl, 0, &foreign);
    assert_int_equal(add("{\"node\": \"n\", \"a/b\": 1}", 1, &foreign, &err), -EINVAL);
    assert_string_equal(err.msg, "a result of SuperBench, and those before it are of nccl-tests");
    foreign_free(&foreign);
}

TEST(a_single_value_decides_nothing)
{
    struct foreign foreign = {0};
    add_node(0, "a", "x/bw", 100, &foreign);
    add_node(1, "b", "x/bw", 10, &foreign);
    assert_outcome(&foreign, OUTCOME_UNCLEAR, "0.100x, but a single value has no interval");
}

/* Five runs a side, the new ones with this factor. */
static struct foreign runs(const char *key, double factor)
{
    struct foreign foreign = {0};
    for (int i = 0; i < 5; i++) {
        add_node(0, "a", key, 100 + i, &foreign);
        add_node(1, "a", key, (100 + i) * factor, &foreign);
    }
    return foreign;
}

TEST(five_runs_decide_by_the_metrics_direction)
{
    const struct {
        const char *key;
        double factor;
        enum finding_outcome outcome;
        const char *reason;
    } cases[] = {{"x/bw", 0.8, OUTCOME_SLOWER, "-20.0% is beyond the range of equal runs"},
                 {"x/bw", 1.25, OUTCOME_FASTER, "+25.0% is beyond the range of equal runs"},
                 {"x/time", 1.25, OUTCOME_SLOWER, "+25.0% is beyond the range of equal runs"},
                 {"x/time", 0.8, OUTCOME_FASTER, "-20.0% is beyond the range of equal runs"},
                 {"x/bw", 1, OUTCOME_SAME, "less than 5%"},
                 {"x/bw", 1.04, OUTCOME_UNCLEAR, "+4.0% is within the range of equal runs"},
                 {"x/y", 0.5, OUTCOME_NONE, ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct foreign foreign = runs(cases[i].key, cases[i].factor);
        assert_outcome(&foreign, cases[i].outcome, cases[i].reason);
    }
}

TEST(a_run_without_a_value_is_no_evidence)
{
    struct foreign foreign = runs("x/bw", 1);
    add_node(1, "a", "x/bw", 0, &foreign);
    assert_outcome(&foreign, OUTCOME_MISSING, "no value above 0 in new");
    add_node(1, "a", "k/return_code", 7, &foreign);
    assert_outcome(&foreign, OUTCOME_MISSING, "return code 7 in new");
    add_node(0, "a", "x/bw", 7, &foreign);
    assert_outcome(&foreign, OUTCOME_MISSING, "only in base");
    add_node(0, "a", "x/bw", 0, &foreign);
    add_node(1, "a", "x/bw", 0, &foreign);
    assert_outcome(&foreign, OUTCOME_MISSING, "");
}

TEST(several_nodes_are_paired_by_name)
{
    struct foreign foreign = {0};
    struct comparisons comparisons = {0};
    struct err err;
    add_node(0, "a", "x/bw", 100, &foreign);
    add_node(0, "b", "x/bw", 200, &foreign);
    add_node(1, "b", "x/bw", 200, &foreign);
    assert_int_equal(foreign_compare(&foreign, 0.05, &comparisons, &err), 0);
    assert_int_equal(comparisons.n, 2);
    assert_string_equal(comparisons.all[0].arm, "a, x");
    assert_int_equal(comparisons.all[0].evidence.outcome, OUTCOME_MISSING);
    assert_true(comparisons.all[1].evidence.ratio == 1);
    comparisons_free(&comparisons);
    foreign_free(&foreign);
}

/* A size that a file repeats is one run: repetitions within it say nothing of other runs. */
TEST(repetitions_in_a_file_are_one_run)
{
    struct foreign foreign = {0};
    for (int side = 0; side < 2; side++) {
        added("{\"results\": [{\"in_place\": {\"time\": 2}}, {\"in_place\": {\"time\": 8}}]}", side,
              &foreign);
        assert_int_equal(foreign.runs[side], 1);
    }
    assert_outcome(&foreign, OUTCOME_UNCLEAR, "+0.0%, but a single value");
}
