/* The closing tables of scans fit 80 columns and say what failed. */
#include "harness/record/analysis.h"
#include "harness/record/format.h"
#include "tests/lib/fixture_golden.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

enum { BY_TEAM = 1, BY_LINE, BY_THREADS, BY_X, BY_Y, BY_Z, BY_REASON, BY_GPU, BY_WHAT, BY_TYPE };
static const struct bench_dim dims[] = {
    [BY_TEAM] = {"team"},
    [BY_LINE] = {"line"},
    [BY_THREADS] = {"threads"},
    [BY_X] = {"x"},
    [BY_Y] = {"y"},
    [BY_Z] = {"z"},
    [BY_REASON] = {"reason"},
    [BY_GPU] = {"gpu", DIM_GPU},
    [BY_WHAT] = {"what"},
    [BY_TYPE] = {"type"},
    {.name = NULL},
};

static char *print_result(const struct result *result)
{
    char *text = fixture_print(result, false);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
    return text;
}

static char *print(const struct fixture_scan_machine *machine, const char *only)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(machine, only, &result);
    char *text = print_result(&result);
    return text;
}

TEST(table_values_golden)
{
    FREED char *text = print(&fixture_server, NULL);
    fixture_golden("table_scans_server.txt", text);
}

/* One pair of the fixture was disturbed. */
TEST(table_values_pairs_are_one_line)
{
    FREED char *text = print(&fixture_vm, "core_to_core smt_pairs");
    assert_has(text, "\npair_latency: 2016 pairs, ");
    assert_has(text, " median .. 1900 ns (5-60)\n");
    assert_has(text, "\npair_slowdown: 2016 pairs, 0.9");
    free(text);
    struct fixture_scan_machine few = fixture_vm;
    few.cpus = 2;
    few.siblings = 1;
    text = print(&few, "core_to_core");
    assert_has(text, "\npair_latency 2");
    assert_has(text, " ns (0-1)");
}

/* Copies from hosts and copies between pairs have different keys, and one table would be too
 * wide. */
TEST(table_values_split_what_fits_no_table)
{
    FREED char *text = print(&fixture_gpus, "gpu_copy");
    assert_has(text, "\ncopy_bandwidth, GB/s, dir h2d, mem pinned / gpu");
    assert_has(text, "\n  node 1, via ce, with all");
    assert_has(text, "\ncopy_bandwidth, GB/s, dir d2d, via ce / dst ");
    assert_has(text, "\n  src 2, op read ");
    assert_lacks(text, " median .. ");
    free(text);
    struct fixture_scan_machine many = fixture_gpus;
    many.gpus = 8;
    text = print(&many, "gpu_copy");
    assert_has(text, "\ncopy_bandwidth, GB/s, dir d2d, via ce, op read");
    assert_has(text, "\ncopy_bandwidth, GB/s, dir d2d, via ce, op write");
    assert_has(text, "\n  src 7 ");
}

/* Prints a scan of `nmetrics` metrics at `n` keys "team=0": each key is `before`, a number,
 * `after`. */
static char *print_columns(size_t n, unsigned nmetrics, const char *before, const char *after)
{
    static const struct bench_metric metrics[] = {
        {"rate", "items/s", "higher"}, {"teams_wait", "us", "lower"}, {.name = NULL}};
    static const struct bench bench = {
        .name = "teams", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "mem_latency", &result);
    result.arms[0].bench = &bench;
    for (unsigned round = 0; round < fixture_vm.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        assert_true(worker->nvalues >= n * nmetrics);
        worker->nvalues = n * nmetrics;
        for (size_t i = 0; i < worker->nvalues; i++) {
            char key[DIMS_KEY_MAX];
            put_text(key, "%s%zu%s", before, i % n, after);
            worker->values[i].metric = (unsigned)(i / n);
            worker->values[i].value = 1000123;
            worker->values[i].dims = dims_parse(&bench, key);
        }
    }
    char *text = print_result(&result);
    return text;
}

/* A long sweep is printed in full, and metrics with the same keys are columns of one table. */
TEST(table_values_stand_upright)
{
    FREED char *text = print_columns(16, 2, "team=", "");
    assert_has(text,
               "\n         rate     wait\nteam  items/s       us\n0     1000123  1000123\n1  ");
    assert_has(text, "\n15    1000123  1000123\n");
}

/* Tables below each other share a head. */
TEST(table_values_share_a_head)
{
    FREED char *text = print_columns(3, 2, "team=", ";what=a_word");
    assert_has(text, "\nwhat a_word / team        0        1        2\nrate, items/s ");
    assert_has(text, "\nteams_wait, us ");
    assert_lacks(strstr(text, "a_word") + 1, "a_word");
}

/* A head that fills the line gets a line of its own. */
TEST(table_values_long_heading)
{
    FREED char *text = print_columns(6, 1, "team=", ";what=a_word_that_makes_it_so_very_long");
    assert_has(text, "\nwhat a_word_that_makes_it_so_very_long / team\n   ");
}

TEST(table_values_say_what_failed)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "mem_bandwidth mem_latency numa_matrix core_to_core", &result);
    for (unsigned round = 0; round < 3; round++) {
        struct observation *all = &result.arms[0].observations[round];
        all->status = STATUS_FAILED;
        strcpy(all->reason, "worker 0 was killed by signal 11");
    }
    struct observation *once = &result.arms[1].observations[1];
    once->status = STATUS_FAILED;
    strcpy(once->reason, "worker 0: a chain was cut");
    struct observation *noisy = &result.arms[3].observations[2];
    noisy->status = STATUS_NOISY;
    strcpy(noisy->reason, "steal 12%");
    FREED char *text = print_result(&result);
    assert_has(text, "\n! mem_bandwidth: failed: worker 0 was killed by signal 11\n");
    assert_lacks(text, "triad");
    assert_has(text, "\n! mem_latency: failed: 1 of 3 rounds: worker 0: a chain was cut\n");
    assert_has(text, "\nsize           ns ");
    assert_has(text, "\n- numa_matrix: skipped: the machine has one NUMA node\n");
    assert_has(text, "\n~ core_to_core: noisy: 1 of 3 rounds: steal 12%\n");
}

/* One of all the values of two metrics is in doubt. */
TEST(table_values_mark_what_is_doubted)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "mem_bandwidth core_to_core", &result);
    for (unsigned arm = 0; arm < 2; arm++)
        for (unsigned round = 0; round < 3; round++) {
            struct worker_result *worker = result.arms[arm].observations[round].workers;
            worker->reasons = calloc(1, sizeof(*worker->reasons));
            assert_non_null(worker->reasons);
            worker->nreasons = 1;
            worker->values[0].value = arm ? 12345 : 1234;
            worker->values[0].reason = 1;
            put_text(worker->reasons[0].msg, "of caches");
        }
    FREED char *text = print_result(&result);
    assert_has(text, " 1234~");
    assert_has(text, " .. 12345 ns~ (0-1)\n");
    assert_ptr_equal(strstr(strstr(strstr(text, "~") + 1, "~") + 1, "~"),
                     strstr(text, "~ mem_bandwidth; core_to_core: noisy: of caches\n"));
}

/* "faults, 1" would look like a value. */
TEST(table_values_counts_have_no_unit)
{
    static const char *const units[] = {"1", "number", "count", "ratio"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        assert_string_equal(number_unit(units[i]), "");
        assert_string_equal(number_format(3, units[i], true), "3.00");
    }
}

/* The side on which the truth lies is printed beside a bound, not below the table. */
TEST(table_values_say_which_bound)
{
    static const char *const reasons[] = {"at most: p99 is too late",
                                          "at least: some did not begin"};
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "mem_bandwidth", &result);
    for (unsigned round = 0; round < 3; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        worker->reasons = calloc(2, sizeof(*worker->reasons));
        assert_non_null(worker->reasons);
        worker->nreasons = 2;
        for (unsigned i = 0; i < 2; i++) {
            struct value *value = &worker->values[2 * (size_t)i];
            value->value = 1234 + 10 * i;
            value->reason = 1 + i;
            put_text(worker->reasons[i].msg, "%s", reasons[i]);
        }
    }
    FREED char *text = print_result(&result);
    assert_has(text, " <=1234 ");
    assert_has(text, " >=1244");
    assert_has(text, "\n~ mem_bandwidth: at most: p99 is too late\n");
    assert_has(text, "\n~ mem_bandwidth: at least: some did not begin\n");
}

TEST(table_values_unknown_metrics_print_too)
{
    struct fixture_scan_machine one = fixture_vm;
    one.rounds = 1;
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&one, "false_sharing", &result);
    struct bench bench = *result.arms[0].bench;
    bench.dims = dims;
    result.arms[0].bench = &bench;
    struct worker_result *worker = result.arms[0].observations[0].workers;
    for (size_t i = 0; i < worker->nvalues; i++)
        worker->values[i].dims =
            DIMS({BY_X, (double)i}, {BY_Y, (double)(i * i)}, {BY_Z, (double)i});
    FREED char *text = print_result(&result);
    assert_has(text, "\nwrite_rate, Mops/s / z");
    assert_has(text, "\n  x 9, y 81 ");
}

/* Reasons that never applied, and remarks about the measurement. */
TEST(table_values_leave_out_what_the_metric_says)
{
    static const struct bench_metric metrics[] = {{"share", "ratio", "lower", .hide_zeros = true},
                                                  {"doubt", "ratio", "none", .hidden = true},
                                                  {.name = NULL}};
    static const struct bench bench = {
        .name = "reasons", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "false_sharing", &result);
    result.arms[0].bench = &bench;
    for (unsigned round = 0; round < fixture_vm.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        for (size_t i = 0; i < worker->nvalues; i++) {
            struct value *value = &worker->values[i];
            char reason[24];
            put_text(reason, "r%zu", i);
            value->dims = dims_with_text(NO_DIMS, BY_REASON, reason);
            value->value = i == 2 ? 0.25 : 0;
        }
    }
    assert_int_equal(result.arms[0].observations[0].workers[0].values[2].metric, 0);
    FREED char *text = print_result(&result);
    assert_has(text, "\nshare 0.25 (reason r2)\n");
    assert_lacks(text, "r0");
    assert_lacks(text, "doubt");
}

/* A difference that is not above 0 in each of the rounds is no figure: not in rows, nor in tables.
 */
TEST(table_values_of_a_difference_that_is_not_resolved)
{
    enum { POINTS = 4 };
    static const struct bench_metric metrics[] = {
        {"extra", "us", "lower", .difference = true}, {"all", "us", "lower"}, {.name = NULL}};
    static const struct bench bench = {
        .name = "costs", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    /* By point: clear, below 0 in one round, below 0 in all, 0. */
    static const double of_round[POINTS][3] = {{3, 4, 5}, {2, -1, 3}, {-7, -1991, -9}, {0, 0, 0}};
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "mem_latency", &result);
    result.arms[0].bench = &bench;
    assert_int_equal(fixture_vm.rounds, 3);
    for (unsigned round = 0; round < 3; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        worker->nvalues = (size_t)2 * POINTS;
        for (unsigned i = 0; i < worker->nvalues; i++) {
            worker->values[i].metric = i / POINTS;
            worker->values[i].reason = 0;
            worker->values[i].dims = DIMS({BY_TEAM, i % POINTS});
            worker->values[i].value = of_round[i % POINTS][round];
        }
    }
    ANALYSED(analysis, &result);
    for (unsigned i = 0; i < POINTS; i++) {
        const struct row *row = &analysis.rows.row[i], *all = &analysis.rows.row[POINTS + i];
        assert_string_equal(row->metric, "extra");
        assert_int_equal(row->rounds, 3);
        assert_int_equal(row_is_unresolved(row), i > 0);
        assert_int_equal(row->status, i ? STATUS_SKIPPED : all->status);
        assert_true(i ? isnan(row->median) && isnan(row->min) : row->median == 4);
        assert_false(row_is_unresolved(all) || row_is_gating(row));
    }
    FREED char *text = print_result(&result);
    assert_has(text, "not resolved");
    assert_lacks(text, "skipped");
    char *extra = strstr(text, "extra"), *end = extra ? strchr(extra, '\n') : NULL;
    assert_non_null(end);
    *end = '\0';
    assert_null(strchr(extra, '-'));
}

TEST(numbers_of_sentences_have_one_style)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {{203e-6, "s", "203 us"},        {7381, "items/s", "7.38 k items/s"},
                 {46516, "us", "46.5 ms"},       {0.0034, "GB/s", "0.0034 GB/s"},
                 {1.25, "ratio", "1.25"},        {NAN, "us", "-"},
                 {203, "items/s", "203 items/s"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(number_format_sentence(cases[i].value, cases[i].unit), cases[i].text);
}
