/* Values of a fingerprint from results made by hand, and the arguments of its runs. */
#include "harness/cmd/fingerprint_sources.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

enum { ROUNDS = 3 };

static void load(const char *xml, struct topo *topo)
{
    const struct topo_options options = {.xml = xml};
    struct err err = {0};
    if (topo_load(&options, topo, &err))
        fail_msg("%s", err.msg);
}

static void assert_expands(const struct topo *topo, const char *word, const char *to)
{
    assert_string_equal(source_expand(word, topo), to);
}

TEST(sources_words_are_of_the_machine)
{
    AUTO(topo) topo;
    load("package:1 l3:1(size=134217728) core:4 pu:2", &topo);
    assert_expands(&topo, "--rounds=3", "--rounds=3");
    assert_expands(&topo, "threads={cpus}", "threads=8");
    assert_expands(&topo, "--cpus={half}", "--cpus=0-3"); /* two whole cores */
    assert_expands(&topo, "min={beyond}", "min=512M");
    topo_free(&topo);
    load("package:1 core:2 pu:1", &topo);
    assert_expands(&topo, "max={beyond}", "max=256M");
}

TEST(source_runs_need_what_they_use)
{
    const struct source_run half = {.needs_half = true}, gpu = {.needs_gpu = true};
    AUTO(topo) topo;
    load("package:1 core:3 pu:1", &topo);
    assert_has(source_not_here(&half, &topo, false), "fewer than 4");
    assert_string_equal(source_not_here(&gpu, &topo, false), "there is no GPU");
    assert_has(source_not_here(&gpu, &topo, true), "sim");
    topo_free(&topo);
    load("package:1 core:4 pu:1", &topo);
    assert_string_equal(source_not_here(&half, &topo, false), "");
}

TEST(source_runs_fit_their_time)
{
    double sum = 0;
    size_t n = 0;
    for (; source_runs[n].folder; n++)
        sum += source_runs[n].max_s;
    assert_in_range(n, 1, SOURCE_RUNS);
    assert_true(sum <= SOURCE_S);
}

/* A result for every run. None counts as measured until a test fills it in. */
struct results {
    struct source_result all[SOURCE_RUNS];
    struct run run[SOURCE_RUNS];
    struct recorded recorded[SOURCE_RUNS];
    struct fingerprint print;
};

static struct results *open_results(void)
{
    struct results *results = calloc(1, sizeof(*results));
    assert_non_null(results);
    for (size_t i = 0; i < SOURCE_RUNS; i++)
        put_text(results->all[i].reason, "not measured");
    return results;
}

static void close_results(struct results *results)
{
    for (size_t i = 0; i < SOURCE_RUNS; i++)
        if (results->all[i].runs.n) {
            analysis_free(&results->recorded[i].analysis);
            fixture_result_free(&results->recorded[i].result);
        }
    free(results);
}

static size_t find_run(const char *folder)
{
    size_t i = 0;
    while (source_runs[i].folder && strcmp(source_runs[i].folder, folder) != 0)
        i++;
    assert_non_null(source_runs[i].folder);
    return i;
}

static struct recorded *begin(struct results *results, const char *folder)
{
    struct recorded *recorded = &results->recorded[find_run(folder)];
    fixture_result_init(&recorded->result);
    return recorded;
}

static void end(struct results *results, const char *folder)
{
    size_t i = find_run(folder);
    struct recorded *recorded = &results->recorded[i];
    if (recorded->result.narms)
        assert_int_equal(analysis_make(&recorded->result, &recorded->analysis, NULL), 0);
    results->run[i].recorded = recorded;
    results->all[i] = (struct source_result){.runs = {.n = 1, .all = &results->run[i]}};
}

static size_t add_arm(struct result *result, enum placement placement, const double *steps_ms)
{
    size_t arm = fixture_add_arm(result, placement, 2, false);
    for (unsigned round = 0; round < ROUNDS; round++)
        (void)fixture_add_even_round(result, arm, round, steps_ms[round], 5);
    return arm;
}

static const struct fingerprint_value *value_of(const struct results *results, const char *part,
                                                const char *name)
{
    for (size_t i = 0; i < results->print.n; i++)
        if (!strcmp(results->print.value[i].part, part) &&
            !strcmp(results->print.value[i].name, name))
            return &results->print.value[i];
    fail_msg("no value '%s' of '%s'", name, part);
    return NULL;
}

/* 200 items in 10 ms; under doses half, a third and half of that in the same rounds. */
TEST(sources_throughput_and_what_is_kept_of_it)
{
    struct results *results = open_results();
    struct result *result = &begin(results, "default")->result;
    add_arm(result, PLACE_NONE, (double[]){20, 60, 20});
    add_arm(result, PLACE_PARTITION, (double[]){10, 20, 10});
    end(results, "default");
    sources_read(results->all, &results->print);
    const struct fingerprint_value *rate = value_of(results, "default", "partition");
    assert_near(rate->value, 20000);
    assert_false(rate->is_retention);
    assert_string_equal(rate->unit, "items/s, sim");
    assert_int_equal(rate->rounds, ROUNDS);
    const struct fingerprint_value *kept =
        value_of(results, "default", "none relative to partition");
    assert_near(kept->value, 0.5);
    assert_near(kept->low, 1.0 / 3);
    assert_true(kept->is_retention);
    assert_string_equal(kept->unit, "ratio, sim");
    const struct fingerprint_value *absent = value_of(results, "cpu", "integer");
    assert_true(isnan(absent->value));
    assert_string_equal(absent->reason, "not measured");
    close_results(results);
}

/* Each dose has its own arm; a dose that was not held gives no value. */
TEST(sources_under_a_dose_that_was_held)
{
    struct results *results = open_results();
    struct result *result = &begin(results, "cpu-load")->result;
    const struct dose doses[] = {{DOSE_CPU, 0.2}, {DOSE_CPU, 0.4}};
    size_t arm = add_arm(result, PLACE_PARTITION, (double[]){12.5, 12.5, 12.5});
    fixture_add_dose(result, arm, doses[0], 0.21);
    arm = add_arm(result, PLACE_PARTITION, (double[]){20, 20, 20});
    fixture_add_dose(result, arm, doses[1], 0.3);
    add_arm(result, PLACE_PARTITION, (double[]){10, 10, 10});
    end(results, "cpu-load");
    sources_read(results->all, &results->print);
    assert_near(value_of(results, "cpu load", "cpu=20%")->value, 0.8);
    const struct fingerprint_value *other = value_of(results, "cpu load", "cpu=40%");
    assert_true(isnan(other->value));
    assert_string_equal(other->reason, "the dose was not held: 0.30");
    close_results(results);
}

enum { BY_DIR = 1, BY_GPU, BY_WITH, BY_WHAT, BY_WAIT, BY_LOAD, BY_STAT };
static const struct bench_dim dims[] = {[BY_DIR] = {"dir", .labels = LABELS("h2d", "d2h")},
                                        [BY_GPU] = {"gpu", DIM_GPU},
                                        [BY_WITH] = {"with", .labels = LABELS("alone", "all")},
                                        [BY_WHAT] = {"what", .labels = LABELS("launch", "sync")},
                                        [BY_WAIT] = {"wait", .labels = LABELS("spin", "block")},
                                        [BY_LOAD] = {"load", .labels = LABELS("idle", "busy")},
                                        [BY_STAT] = {"stat", .labels = LABELS("p50", "p99")},
                                        {.name = NULL}};
static const struct bench scan = {.name = "scan", .dims = dims, .scan = fixture_no_scan};

/* Adds a scan's arm with two rows: the first has `value`, with a range of 10% around it. */
static void add_rows(struct recorded *recorded, size_t arm, const char *metric, const char *better,
                     const struct dims at[2], double value)
{
    recorded->result.arms[arm].bench = &scan;
    for (int i = 1; i >= 0; i--) {
        double own = i ? 1000 : value;
        const struct row row = {.arm = &recorded->result.arms[arm],
                                .bench = "scan",
                                .metric = metric,
                                .better = better,
                                .unit = "u",
                                .device = "cuda",
                                .dims = at[i],
                                .rounds = 3,
                                .median = own,
                                .ci_low = 0.9 * own,
                                .ci_high = 1.1 * own};
        assert_int_equal(rows_append(&recorded->analysis.rows, &row, NULL), 0);
    }
}

/* Adds a run of a scan under a dose, and its baseline. */
static void add_scan(struct results *results, const char *folder, const char *metric,
                     const char *better, const struct dims at[2], const double values[2],
                     struct dose dose)
{
    struct recorded *recorded = begin(results, folder);
    (void)fixture_add_arm(&recorded->result, PLACE_NONE, 1, false);
    (void)fixture_add_arm(&recorded->result, PLACE_NONE, 1, true);
    end(results, folder);
    recorded->result.arms[0].dose = dose;
    struct round_values *rounds = &recorded->analysis.values;
    values_free(rounds);
    *rounds = (struct round_values){0};
    for (size_t arm = 0; arm < 2; arm++) {
        add_rows(recorded, arm, metric, better, at, values[arm]);
        for (int round = 0; round < ROUNDS; round++) {
            const double share = arm ? 1 : 0.9 + 0.1 * round;
            const struct round_value value = {.metric = metric,
                                              .unit = "u",
                                              .better = better,
                                              .dims = at[0],
                                              .round = round,
                                              .value = values[arm] * share};
            assert_int_equal(values_append(rounds, arm, &value, NULL), 0);
        }
    }
    assert_int_equal(values_sort(rounds, 2, NULL), 0);
}

/* GPU 0 alone counts, not all GPUs together; the loss of a rate and the loss of a latency. */
TEST(sources_scans_where_they_stand_and_relative_to_their_baseline)
{
    struct results *results = open_results();
    const struct dims copies[] = {DIMS({BY_DIR, 0}, {BY_GPU, 0}, {BY_WITH, 0}),
                                  DIMS({BY_DIR, 0}, {BY_GPU, 0}, {BY_WITH, 1})};
    const struct dims launches[] = {
        DIMS({BY_WHAT, 0}, {BY_WAIT, 0}, {BY_LOAD, 0}, {BY_STAT, 0}, {BY_GPU, 0}),
        DIMS({BY_WHAT, 0}, {BY_WAIT, 0}, {BY_LOAD, 0}, {BY_STAT, 1}, {BY_GPU, 0})};
    add_scan(results, "h2d", "copy_bandwidth", "higher", copies, (double[]){40, 50},
             (struct dose){DOSE_BANDWIDTH, 0.8});
    add_scan(results, "launch", "launch_latency", "lower", launches, (double[]){4, 3},
             (struct dose){DOSE_CPU, 0.2});
    sources_read(results->all, &results->print);
    assert_near(value_of(results, "copies", "h2d")->value, 50);
    assert_false(value_of(results, "copies", "h2d")->less_is_better);
    const struct fingerprint_value *kept =
        value_of(results, "copies under memory load", "h2d at bandwidth=0.8");
    assert_near(kept->value, 0.8);
    assert_near(kept->low, 0.72);
    assert_near(kept->high, 0.88);
    assert_near(value_of(results, "launches", "latency")->value, 3);
    assert_true(value_of(results, "launches", "latency")->less_is_better);
    kept = value_of(results, "launches under cpu load", "latency at cpu=20%");
    assert_near(kept->value, 0.75);
    assert_false(kept->less_is_better);
    assert_true(isnan(value_of(results, "copies", "d2h")->value));
    close_results(results);
}
