/* The closing tables of scans: fit 80 columns, and say what failed. */
#include "harness/show/table/placements.h"

#include "harness/rows/number.h"
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
    struct result result;
    fixture_scans_make(machine, only, &result);
    char *text = print_result(&result);
    fixture_result_free(&result);
    return text;
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("no '%s' in\n%s", what, text);
}

TEST(table_values_golden)
{
    char *text = print(&fixture_vm, NULL);
    fixture_golden("table_scans_vm.txt", text);
    free(text);
    text = print(&fixture_server, NULL);
    fixture_golden("table_scans_server.txt", text);
    free(text);
}

/* In the fixture, one pair was disturbed. */
TEST(table_values_pairs_are_one_line)
{
    char *text = print(&fixture_vm, "core_to_core smt_pairs");
    assert_says(text, "\npair_latency: 2016 pairs, ");
    assert_says(text, " median .. 1900 ns (5-60)\n");
    assert_says(text, "\npair_slowdown: 2016 pairs, 0.9");
    free(text);
    struct fixture_scan_machine few = fixture_vm;
    few.cpus = 2;
    few.siblings = 1;
    text = print(&few, "core_to_core");
    assert_says(text, "\npair_latency 2");
    assert_says(text, " ns (0-1)");
    free(text);
}

/* Copies of hosts have other keys than those of pairs, and all together would fit no table. */
TEST(table_values_split_what_fits_no_table)
{
    char *text = print(&fixture_gpus, "gpu_copy");
    assert_says(text, "\ncopy_bandwidth, GB/s, dir h2d, mem pinned  gpu       0       1       2 ");
    assert_says(text, "\n  node 1, via ce, with all                           -       -    27.");
    assert_says(text, "\ncopy_bandwidth, GB/s, dir d2d, via ce      dst       0       1       2 ");
    assert_says(text, "\n  src 2, op read                                   39");
    assert_null(strstr(text, " median .. "));
    free(text);
    struct fixture_scan_machine many = fixture_gpus;
    many.gpus = 8;
    text = print(&many, "gpu_copy");
    assert_says(text, "\ncopy_bandwidth, GB/s, dir d2d, via ce, op read");
    assert_says(text, "\ncopy_bandwidth, GB/s, dir d2d, via ce, op write");
    assert_says(text, "\n  src 7 ");
    free(text);
}

TEST(table_values_names_what_differs)
{
    char *text = print(&fixture_server, "loaded_latency");
    assert_says(text, "\nloaded_latency, inject r\n");
    assert_says(text, "\nloaded_latency, inject rw\n");
    assert_says(text, "\nknee_bandwidth 152 GB/s; retention 0.34\n");
    free(text);
}

/* A scan of one metric at `n` keys "team=0": of `before`, a number and `after`. */
static char *print_columns(size_t n, const char *before, const char *after,
                           double (*value_of)(size_t i, size_t odd), size_t odd)
{
    static const struct bench_metric metrics[] = {{"rate", "items/s", "higher"}, {.name = NULL}};
    static const struct bench bench = {
        .name = "teams", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    struct result result;
    fixture_scans_make(&fixture_vm, "mem_latency", &result);
    result.arms[0].bench = &bench;
    for (unsigned round = 0; round < fixture_vm.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        assert_true(worker->nvalues >= n);
        worker->nvalues = n;
        for (size_t i = 0; i < n; i++) {
            worker->values[i].metric = 0;
            worker->values[i].value = value_of(i, odd);
            char key[DIMS_KEY_MAX];
            (void)snprintf(key, sizeof(key), "%s%zu%s", before, i, after);
            worker->values[i].dims = dims_parse(&bench, key);
        }
    }
    char *text = print_result(&result);
    fixture_result_free(&result);
    return text;
}

static double rising_but_one(size_t i, size_t odd)
{
    return i == odd ? 300 : 1000 + 100 * (double)i;
}

static double flat_but_one(size_t i, size_t odd)
{
    return i == odd ? 1150123 : 1000123;
}

/* Of 16 columns there is room for 7; the one where a rate collapses is among them. */
TEST(table_values_show_the_cliff)
{
    for (size_t cliff = 0; cliff < 16; cliff++) {
        char name[16];
        char *text = print_columns(16, "team=", "", rising_but_one, cliff);
        (void)snprintf(name, sizeof(name), " %zu ", cliff);
        if (cliff < 15)
            assert_says(strstr(text, "team"), name);
        assert_says(text, " 300");
        assert_says(text, " 15\nrate");
        free(text);
    }
}

/* So is the best, which is not far enough from the others for a cliff; the others are counted. */
TEST(table_values_show_the_best)
{
    for (size_t best = 0; best < 16; best++) {
        char *text = print_columns(16, "team=", "", flat_but_one, best);
        assert_says(text, " 1150123");
        assert_says(text, "\nnot shown, but in rows.csv: of rate: team (9 of 16)\n");
        free(text);
    }
    char *text = print_columns(9, "team=", "", flat_but_one, 4);
    assert_says(text, "       0       1       3       4       5       7       8\n");
    assert_says(text, "\nnot shown, but in rows.csv: of rate: team 2, 6\n");
    free(text);
}

/* The rate of up to two lines over the columns, in order; all have `n`. */
static char *print_sweep(const double *const *lines, size_t nlines, size_t n)
{
    static const struct bench_metric metrics[] = {{"rate", "items/s", "higher"}, {.name = NULL}};
    static const struct bench bench = {
        .name = "teams", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    struct result result;
    fixture_scans_make(&fixture_vm, "mem_latency", &result);
    result.arms[0].bench = &bench;
    for (unsigned round = 0; round < fixture_vm.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        assert_true(nlines * n <= worker->nvalues);
        worker->nvalues = nlines * n;
        for (size_t i = 0; i < nlines * n; i++) {
            worker->values[i].metric = 0;
            worker->values[i].value = lines[i / n][i % n];
            worker->values[i].dims =
                DIMS({BY_LINE, (double)(i / n)}, {BY_THREADS, (double)(i % n)});
        }
    }
    char *text = print_result(&result);
    fixture_result_free(&result);
    return text;
}

/* A cliff among the evenly chosen columns does not give way to a best beside it. */
TEST(table_values_keep_the_cliff_beside_the_best)
{
    static const double first[] = {1180123, 2290123,  4110123,  8000123,
                                   1286012, 18630123, 10450123, 8940123};
    static const double second[] = {2200123, 4150123,  8000123,  15000123,
                                    630123,  14000123, 12860123, 10730123};
    const double *const lines[] = {first, second};
    char *text = print_sweep(lines, 2, 8);
    assert_says(text, " 630123");
    assert_says(text, " 18630123");
    assert_says(text, " 15000123");
    assert_says(text, "\nnot shown, but in rows.csv: of rate: threads ");
    free(text);
}

/* Each line has its best elsewhere, six in all: they stand in two blocks. */
TEST(table_values_show_each_best_and_the_cliff)
{
    enum { LINES = 6, COLUMNS = 18 };
    double value[LINES][COLUMNS];
    const double *lines[LINES];
    for (size_t line = 0; line < LINES; line++) {
        lines[line] = value[line];
        for (size_t i = 0; i < COLUMNS; i++)
            value[line][i] = i == 2 + 2 * line ? 1234000 + (double)line : 1000123;
    }
    value[0][15] = 400123;
    char *text = print_sweep(lines, LINES, COLUMNS);
    for (size_t line = 0; line < LINES; line++) {
        char best[16];
        (void)snprintf(best, sizeof(best), " %zu", 1234000 + line);
        assert_says(text, best);
    }
    assert_says(text, " 400123");
    assert_says(text, "\nnot shown, but in rows.csv: of rate: threads 1, 5, 11, 14\n");
    free(text);
}

/* Of three metrics, of which the second has other teams than the others. */
TEST(table_values_say_whose_columns_are_left_out)
{
    static const struct bench_metric metrics[] = {
        {"a", "1", "none"}, {"b", "1", "none"}, {"c", "1", "none"}, {.name = NULL}};
    static const struct bench bench = {
        .name = "teams", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    static const unsigned teams[] = {9, 8, 9};
    struct result result;
    fixture_scans_make(&fixture_vm, "mem_latency", &result);
    result.arms[0].bench = &bench;
    for (unsigned round = 0; round < fixture_vm.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        size_t n = 0;
        for (unsigned metric = 0; metric < 3; metric++)
            for (unsigned team = 0; team < teams[metric]; team++, n++) {
                assert_true(n < worker->nvalues);
                worker->values[n].metric = metric;
                worker->values[n].value = 1000123;
                worker->values[n].dims = DIMS({BY_TEAM, team});
            }
        worker->nvalues = n;
    }
    char *text = print_result(&result);
    assert_says(text, "\nnot shown, but in rows.csv: of a, c: team 2, 6; of b: team 3\n");
    free(text);
    fixture_result_free(&result);
}

/* Names stand for themselves, and so do the numbers of GPUs: they go on below. */
TEST(table_values_show_all_names)
{
    static const char *const names[] = {"type=t", "gpu="};
    for (size_t name = 0; name < 2; name++) {
        char *text = print_columns(16, names[name], "", flat_but_one, 16);
        unsigned shown = 0;
        for (const char *at = text; (at = strstr(at, " 1000123")); at++)
            shown++;
        assert_int_equal(shown, 16);
        assert_null(strstr(text, "not shown"));
        free(text);
    }
}

/* More columns than usual, where their texts leave room: none is left out. */
TEST(table_values_narrow_columns)
{
    char *text = print_columns(9, "team=", "", rising_but_one, 9);
    assert_says(text, "     0     1     2     3     4     5     6     7     8\n");
    assert_says(text, "  1000  1100  1200  1300  1400  1500  1600  1700  1800\n");
    assert_null(strstr(text, "not shown"));
    free(text);
}

/* A heading that leaves no place for the name of what is across is a line of its own. */
TEST(table_values_long_heading)
{
    char *text = print_columns(3, "team=", ";what=a_word_that_makes_it_long", flat_but_one, 3);
    assert_says(text, "\nwhat a_word_that_makes_it_long");
    free(text);
}

TEST(table_values_say_what_failed)
{
    struct result result;
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
    char *text = print_result(&result);
    assert_says(text, "\n! mem_bandwidth: failed: worker 0 was killed by signal 11\n");
    assert_null(strstr(text, "triad"));
    assert_says(text, "\n! mem_latency: failed: 1 of 3 rounds: worker 0: a chain was cut\n");
    assert_says(text, "\nlatency, ns");
    assert_says(text, "\n- numa_matrix: skipped: the machine has one NUMA node\n");
    assert_says(text, "\n~ core_to_core: noisy: 1 of 3 rounds: steal 12%\n");
    free(text);
    fixture_result_free(&result);
}

/* Of all values of two metrics, one is doubted. */
TEST(table_values_mark_what_is_doubted)
{
    struct result result;
    fixture_scans_make(&fixture_vm, "mem_bandwidth core_to_core", &result);
    for (unsigned arm = 0; arm < 2; arm++)
        for (unsigned round = 0; round < 3; round++) {
            struct worker_result *worker = result.arms[arm].observations[round].workers;
            worker->reasons = calloc(1, sizeof(*worker->reasons));
            assert_non_null(worker->reasons);
            worker->nreasons = 1;
            worker->values[0].value = arm ? 12345 : 1234;
            worker->values[0].reason = 1;
            (void)snprintf(worker->reasons[0].msg, sizeof(worker->reasons[0].msg), "of caches");
        }
    char *text = print_result(&result);
    assert_says(text, " 1234~");
    assert_says(text, " .. 12345 ns~ (0-1)\n");
    assert_ptr_equal(strstr(strstr(strstr(text, "~") + 1, "~") + 1, "~"),
                     strstr(text, "~ mem_bandwidth; core_to_core: noisy: of caches\n"));
    free(text);
    fixture_result_free(&result);
}

/* "faults, 1" would be read as a value. */
TEST(table_values_counts_have_no_unit)
{
    static const char *const units[] = {"1", "number", "count", "ratio"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        char text[32];
        assert_string_equal(number_unit(units[i]), "");
        assert_string_equal(number_format(3, units[i], true, text, sizeof(text)), "3.00");
    }
}

/* Which side of it the truth lies on stands beside a bound, not below the table. */
TEST(table_values_say_which_bound)
{
    static const char *const reasons[] = {"at most: p99 is too late",
                                          "at least: some did not begin"};
    struct result result;
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
            (void)snprintf(worker->reasons[i].msg, sizeof(worker->reasons[i].msg), "%s",
                           reasons[i]);
        }
    }
    char *text = print_result(&result);
    assert_says(text, " <=1234 ");
    assert_says(text, " >=1244");
    assert_says(text, "\n~ mem_bandwidth: at most: p99 is too late\n");
    assert_says(text, "\n~ mem_bandwidth: at least: some did not begin\n");
    free(text);
    fixture_result_free(&result);
}

TEST(table_values_unknown_metrics_print_too)
{
    struct fixture_scan_machine one = fixture_vm;
    one.rounds = 1;
    struct result result;
    fixture_scans_make(&one, "false_sharing", &result);
    struct bench bench = *result.arms[0].bench;
    bench.dims = dims;
    result.arms[0].bench = &bench;
    struct worker_result *worker = result.arms[0].observations[0].workers;
    for (size_t i = 0; i < worker->nvalues; i++)
        worker->values[i].dims =
            DIMS({BY_X, (double)i}, {BY_Y, (double)(i * i)}, {BY_Z, (double)i});
    char *text = print_result(&result);
    assert_says(text, "\nwrite_rate, Mops/s  z ");
    assert_says(text, "\n  x 9, y 81 ");
    free(text);
    fixture_result_free(&result);
}

/* Reasons that never held, and what is about the measurement. */
TEST(table_values_leave_out_what_the_metric_says)
{
    static const struct bench_metric metrics[] = {{"share", "ratio", "lower", .only_held = true},
                                                  {"doubt", "ratio", "none", .quiet = true},
                                                  {.name = NULL}};
    static const struct bench bench = {
        .name = "reasons", .metrics = metrics, .dims = dims, .scan = fixture_no_scan};
    struct result result;
    fixture_scans_make(&fixture_vm, "false_sharing", &result);
    result.arms[0].bench = &bench;
    for (unsigned round = 0; round < fixture_vm.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        for (size_t i = 0; i < worker->nvalues; i++) {
            struct value *value = &worker->values[i];
            char reason[24];
            (void)snprintf(reason, sizeof(reason), "r%zu", i);
            value->dims = dims_with_text(NO_DIMS, BY_REASON, reason);
            value->value = i == 2 ? 0.25 : 0;
        }
    }
    assert_int_equal(result.arms[0].observations[0].workers[0].values[2].metric, 0);
    char *text = print_result(&result);
    assert_says(text, "\nshare 0.25 (reason r2)\n");
    assert_null(strstr(text, "r0"));
    assert_null(strstr(text, "doubt"));
    free(text);
    fixture_result_free(&result);
}

/* What the fixture measured in place becomes another operation, of its `keep` smallest sizes. */
static char *print_two_operations(unsigned keep)
{
    struct result result;
    fixture_scans_make(&fixture_server, "collective", &result);
    const struct bench *bench = result.arms[0].bench;
    for (unsigned round = 0; round < fixture_server.rounds; round++) {
        struct worker_result *worker = result.arms[0].observations[round].workers;
        size_t kept = 0;
        for (size_t i = 0; i < worker->nvalues; i++) {
            struct value *value = &worker->values[i];
            char key[DIMS_KEY_MAX];
            bool in_place = strstr(dims_format(bench, &value->dims, key), "place=in") != NULL;
            unsigned long size = strtoul(strstr(key, "size=") + 5, NULL, 10);
            (void)snprintf(key, sizeof(key), "op=%s;size=%lu", in_place ? "broadcast" : "allreduce",
                           size);
            value->dims = dims_parse(bench, key);
            if (!in_place || size < 8ul << 2 * keep)
                worker->values[kept++] = *value;
        }
        worker->nvalues = kept;
    }
    char *text = print_result(&result);
    fixture_result_free(&result);
    return text;
}

/* Many sizes: none is left out, and each operation has a table. */
TEST(table_values_a_line_a_size)
{
    char *text = print_two_operations(6);
    assert_says(text, "\nop allreduce  latency   busbw\nsize               us    GB/s\n8 B  ");
    assert_says(text, "\n128 MiB           664     303\n\nop broadcast  latency   busbw\n");
    assert_says(text, "\n8 KiB            21.5    0.57\n");
    assert_null(strstr(text, "collective_latency"));
    free(text);
}

/* An operation of few sizes stands in no such table: then all stand in the usual ones. */
TEST(table_values_few_sizes_side_by_side)
{
    char *text = print_two_operations(3);
    assert_says(text, "\ncollective_latency, us  size     8 B ");
    assert_says(text, "\n  op broadcast ");
    assert_null(strstr(text, "\n8 B "));
    free(text);
}

/* Sizes alone do not make such a table: the metric says that it stands in one. */
TEST(table_values_side_by_side_unless_said)
{
    struct result result;
    fixture_scans_make(&fixture_server, "collective", &result);
    struct bench_metric metrics[16] = {{.name = NULL}};
    struct bench bench = *result.arms[0].bench;
    for (size_t m = 0; bench.metrics[m].name; m++) {
        assert_in_range(m, 0, 14);
        metrics[m] = bench.metrics[m];
        metrics[m].by_size = false;
    }
    bench.metrics = metrics;
    result.arms[0].bench = &bench;
    char *text = print_result(&result);
    assert_says(text, "\ncollective_latency, us, op allreduce  size     8 B ");
    assert_null(strstr(text, "\n8 B "));
    free(text);
    fixture_result_free(&result);
}
