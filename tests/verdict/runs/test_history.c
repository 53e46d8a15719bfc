/* Figures of one machine over time: the text about those that changed, and the changes that the
 * control explains. */
#include "harness/verdict/runs/history.h"

#include "tests/lib/fixture_sim.h"
#include "tests/lib/unit.h"

static struct history history;
static struct findings findings;

static int tear_down(void **state)
{
    history_free(&history);
    findings_free(&findings);
    return 0;
}

/* Noise of 1%, the same in every test. */
static double jitter(size_t i)
{
    static const double parts[] = {0, 1, -1, 0.5, -0.7, 0.8, -0.2, 0.3, -0.9};
    return 1 + 0.01 * parts[i * 5 % 9];
}

/* Adds the runs in an order other than that of time. */
static void add_runs(size_t n)
{
    uint32_t at;
    for (size_t i = 0; i < n; i++) {
        unsigned day = (unsigned)((i * 7 + 3) % n);
        struct history_run run = {.commit = "abc"};
        put_text(run.started, "2026-%02u-%02uT12:00:00Z", 1 + day / 28, 1 + day % 28);
        put_text(run.run_id, "run-%u", day);
        assert_int_equal(history_add_run(&history, &run, &at, NULL), 0);
        assert_int_equal(at, i);
    }
}

static struct history_figure figure_of(const char *arm, const char *metric, const char *better,
                                       bool is_control)
{
    struct history_figure figure = {.params = "rows=64", .unit = "x", .is_control = is_control};
    put_text(figure.arm, "%s", arm);
    put_text(figure.metric, "%s", metric);
    put_text(figure.better, "%s", better);
    return figure;
}

/* `ratio` from run `from` on; n and 7 have no common divisor. */
static void add_figure(const char *metric, const char *better, bool is_control, size_t n,
                       size_t from, double ratio)
{
    const struct history_figure figure =
        figure_of(is_control ? "canary" : "pipeline, none, 2 workers", metric, better, is_control);
    for (size_t i = 0; i < n; i++) {
        size_t day = (i * 7 + 3) % n;
        double value = 100 * jitter(day) * (day >= from ? ratio : 1);
        assert_int_equal(history_add(&history, &figure, (uint32_t)i, value, NULL), 0);
    }
}

static void judge_beyond(double threshold)
{
    assert_int_equal(history_judge(&history, threshold, &findings, NULL), 0);
}

static void judge(void)
{
    judge_beyond(0.02);
}

static const struct finding *find(const char *id, const char *metric)
{
    for (size_t i = 0; i < findings.n; i++)
        if (!strcmp(findings.all[i].id, id) && !strcmp(findings.all[i].metric, metric))
            return &findings.all[i];
    return NULL;
}

TEST_WITHIN(history_says_what_became_slower_and_faster, NULL, tear_down)
{
    add_runs(20);
    add_figure("throughput", "higher", false, 20, 12, 0.9);
    add_figure("step_time", "lower", false, 20, 12, 0.8);
    add_figure("latency", "lower", false, 20, 20, 1);
    judge();
    const struct finding *slower = find("history_change", "throughput");
    const struct finding *faster = find("history_change", "step_time");
    assert_non_null(slower);
    assert_non_null(faster);
    assert_int_equal(slower->outcome, OUTCOME_SLOWER);
    assert_int_equal(slower->severity, FINDING_BAD);
    assert_true(fabs(slower->value - 0.9) < 0.01);
    assert_true(slower->low < 0.9 && slower->high > 0.9);
    assert_has(slower->sentence, "throughput -10");
    assert_has(slower->sentence, "with run 13 of 20, 2026-01-13T12:00:00Z");
    assert_has(slower->evidence, "run run-12");
    assert_string_equal(slower->subject, "pipeline, none, 2 workers");
    assert_int_equal(faster->outcome, OUTCOME_FASTER);
    assert_int_equal(faster->severity, FINDING_NOTE);
    assert_null(find("history_change", "latency"));
    assert_int_equal(history_count(&findings, OUTCOME_SLOWER), 1);
    assert_has(find("history", "")->sentence, "3 figures: 1 SLOWER, 1 FASTER, 0 UNCLEAR");
}

/* If the control changes in the same run and direction, the machine changed; not if it changes
 * otherwise or less. */
TEST_WITHIN(history_declines_what_the_control_shows_too, NULL, tear_down)
{
    static const struct {
        const char *better;
        size_t from;
        double ratio;
        enum finding_outcome outcome;
    } controls[] = {
        {"lower", 13, 1.12, OUTCOME_UNCLEAR}, {"higher", 11, 0.92, OUTCOME_UNCLEAR},
        {"lower", 13, 0.90, OUTCOME_SLOWER},  {"lower", 6, 1.12, OUTCOME_SLOWER},
        {"lower", 12, 1.03, OUTCOME_SLOWER},
    };
    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
        add_runs(20);
        add_figure("throughput", "higher", false, 20, 12, 0.85);
        add_figure("canary_integer", controls[i].better, true, 20, controls[i].from,
                   controls[i].ratio);
        judge();
        const struct finding *change = find("history_change", "throughput");
        assert_non_null(change);
        assert_int_equal(change->outcome, controls[i].outcome);
        bool declined = controls[i].outcome == OUTCOME_UNCLEAR;
        assert_int_equal(change->severity, declined ? FINDING_DOUBT : FINDING_BAD);
        assert_int_equal(strstr(change->sentence, "the machine itself changed") != NULL, declined);
        assert_non_null(find("history_canary", "canary_integer"));
        assert_int_equal(history_count(&findings, OUTCOME_SLOWER), !declined);
        tear_down(NULL);
    }
}

TEST_WITHIN(history_of_too_few_runs_is_unclear, NULL, tear_down)
{
    add_runs(CHANGES_RUNS - 2);
    add_figure("throughput", "higher", false, CHANGES_RUNS - 2, 3, 0.5);
    judge();
    assert_int_equal(findings.n, 1);
    assert_int_equal(find("history", "")->outcome, OUTCOME_UNCLEAR);
}

/* Adds successive levels of equal length; `share` scales the noise. */
static void add_levels(const char *metric, bool is_control, size_t n, const double *levels,
                       size_t nlevels, double share)
{
    const struct history_figure figure =
        figure_of(is_control ? "canary" : "a", metric, "higher", is_control);
    for (size_t i = 0; i < n; i++) {
        size_t day = (i * 7 + 3) % n;
        double value = levels[day * nlevels / n] * (1 + share * (jitter(day) - 1));
        assert_int_equal(history_add(&history, &figure, (uint32_t)i, value, NULL), 0);
    }
}

/* The level at the end counts, relative to the best level before it or else to the first. */
TEST_WITHIN(history_of_a_loss_that_came_back_in_part_is_slower, NULL, tear_down)
{
    static const struct {
        double levels[3];
        enum finding_outcome outcome;
        const char *said;
    } cases[] = {
        {{100, 70, 73.5}, OUTCOME_SLOWER, "-26."},   {{100, 130, 120}, OUTCOME_SLOWER, "-7."},
        {{100, 90, 120}, OUTCOME_FASTER, "+19."},    {{100, 110, 130}, OUTCOME_FASTER, "+"},
        {{100, 90, 80}, OUTCOME_SLOWER, "in steps"}, {{100, 70, 100}, OUTCOME_NONE, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum finding_outcome outcome = cases[i].outcome;
        add_runs(36);
        add_levels("throughput", false, 36, cases[i].levels, 3, 1);
        judge();
        const struct finding *change = find("history_change", "throughput");
        assert_int_equal(change != NULL, outcome != OUTCOME_NONE);
        if (change) {
            assert_int_equal(change->outcome, outcome);
            assert_has(change->sentence, cases[i].said);
            assert_int_equal(strstr(change->sentence, "recovered in part") != NULL, i == 0);
        }
        assert_non_null(find("history_step", "throughput"));
        assert_int_equal(history_count(&findings, OUTCOME_SLOWER), outcome == OUTCOME_SLOWER);
        assert_int_equal(find("history", "")->outcome,
                         outcome == OUTCOME_SLOWER ? OUTCOME_SLOWER : OUTCOME_SAME);
        tear_down(NULL);
    }
}

/* The machine itself lost speed and recovered in part: no verdict on the benchmark. */
TEST_WITHIN(history_of_a_loss_of_the_machine_that_came_back_in_part_is_unclear, NULL, tear_down)
{
    add_runs(36);
    add_levels("throughput", false, 36, (const double[]){100, 70, 80}, 3, 1);
    add_levels("canary_copy", true, 36, (const double[]){50, 35, 40}, 3, 1);
    judge();
    assert_int_equal(find("history_change", "throughput")->outcome, OUTCOME_UNCLEAR);
    assert_int_equal(history_count(&findings, OUTCOME_SLOWER), 0);
}

/* Three steps of 1.3%, each below the 2% that are reported. */
TEST_WITHIN(history_adds_up_small_steps, NULL, tear_down)
{
    add_runs(60);
    add_levels("throughput", false, 60, (const double[]){100, 98.7, 97.4, 96.1}, 4, 0.1);
    judge();
    const struct finding *change = find("history_change", "throughput");
    assert_non_null(change);
    assert_int_equal(change->outcome, OUTCOME_SLOWER);
    assert_true(change->value > 0.955 && change->value < 0.98);
}

/* A figure that falls with every run counts as changed. */
TEST_WITHIN(history_of_a_drift_for_the_worse_is_slower, NULL, tear_down)
{
    for (size_t with_control = 0; with_control < 2; with_control++) {
        double down[40], up[40];
        for (size_t i = 0; i < 40; i++) {
            down[i] = 100 * pow(0.996, (double)i);
            up[i] = 100 * pow(1.004, (double)i);
        }
        add_runs(40);
        add_levels("throughput", false, 40, down, 40, 0.5);
        add_levels("bandwidth", false, 40, up, 40, 0.5);
        if (with_control)
            add_levels("canary_copy", true, 40, down, 40, 0.5);
        judge();
        const struct finding *drift = find("history_change", "throughput");
        const struct finding *better = find("history_change", "bandwidth");
        const struct finding *whole = find("history", "");
        assert_true(drift && better && whole);
        assert_int_equal(drift->outcome, with_control ? OUTCOME_UNCLEAR : OUTCOME_SLOWER);
        assert_int_equal(drift->severity, with_control ? FINDING_DOUBT : FINDING_BAD);
        assert_int_equal(better->outcome, OUTCOME_FASTER);
        assert_has(whole->sentence, with_control ? "0 SLOWER, 1 FASTER, 1 UNCLEAR"
                                                 : "1 SLOWER, 1 FASTER, 0 UNCLEAR");
        assert_has(whole->sentence, "0 unchanged");
        tear_down(NULL);
    }
}

static uint64_t state_of_chance;

static void add_noisy(const char *metric, bool is_control, size_t n, const double *levels,
                      double cv)
{
    double values[160];
    for (size_t i = 0; i < n; i++)
        values[i] = levels[i] * exp(cv * sim_normal(&state_of_chance));
    add_levels(metric, is_control, n, values, n, 0);
}

/* Figures and controls that changed by the same amount; noise decides which of them looks like a
 * drift. */
TEST_WITHIN(history_of_a_shift_of_the_machine_is_unclear, NULL, tear_down)
{
    enum { RUNS = 40, FIGURES = 11, HISTORIES = 40 };
    static const struct {
        bool steps;
        double cv, cv_control;
    } cases[] = {{false, 0.005, 0.04}, {false, 0.03, 0.005}, {true, 0.03, 0.005}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        double levels[RUNS];
        size_t slower = 0, unclear = 0;
        state_of_chance = 7 + c;
        for (size_t i = 0; i < RUNS; i++)
            levels[i] = cases[c].steps ? 100 * pow(0.94, (double)(3 * i / RUNS))
                                       : 100 * pow(0.9, (double)i / (RUNS - 1));
        for (size_t h = 0; h < HISTORIES; h++) {
            char metric[16];
            add_runs(RUNS);
            for (size_t f = 0; f < FIGURES; f++) {
                put_text(metric, "rate_%zu", f);
                add_noisy(metric, false, RUNS, levels, cases[c].cv);
            }
            add_noisy("canary_integer", true, RUNS, levels, cases[c].cv_control);
            add_noisy("canary_copy", true, RUNS, levels, cases[c].cv_control);
            judge();
            slower += history_count(&findings, OUTCOME_SLOWER);
            unclear += history_count(&findings, OUTCOME_UNCLEAR);
            tear_down(NULL);
        }
        assert_true(unclear > 0.8 * FIGURES * HISTORIES);
        assert_true(slower < 0.1 * FIGURES * HISTORIES);
    }
}

/* A control that only has noise explains nothing. */
TEST_WITHIN(history_of_a_control_that_stood_still_is_no_excuse, NULL, tear_down)
{
    enum { RUNS = 40, HISTORIES = 200 };
    double levels[RUNS], still[RUNS];
    size_t slower = 0, unclear = 0;
    state_of_chance = 3;
    for (size_t i = 0; i < RUNS; i++) {
        levels[i] = i < 20 ? 100 : 94;
        still[i] = 100;
    }
    for (size_t h = 0; h < HISTORIES; h++) {
        add_runs(RUNS);
        add_noisy("throughput", false, RUNS, levels, 0.01);
        add_noisy("canary_copy", true, RUNS, still, 0.04);
        judge();
        slower += history_count(&findings, OUTCOME_SLOWER);
        unclear += history_count(&findings, OUTCOME_UNCLEAR);
        tear_down(NULL);
    }
    assert_true(slower > 0.92 * HISTORIES);
}

/* A change of the machine that is too small to be reported explains an equally small change. */
TEST_WITHIN(history_of_a_small_move_of_the_machine_explains_nonetheless, NULL, tear_down)
{
    add_runs(40);
    add_levels("throughput", false, 40, (const double[]){100, 86}, 2, 1);
    add_levels("canary_copy", true, 40, (const double[]){50, 46}, 2, 1);
    judge_beyond(0.10);
    assert_int_equal(find("history_change", "throughput")->outcome, OUTCOME_UNCLEAR);
    assert_null(find("history_canary", "canary_copy"));
}

/* In at most 1% of histories with noise alone anything may be reported. */
TEST_WITHIN(history_of_unchanged_noise_is_quiet, NULL, tear_down)
{
    enum { RUNS = 40, FIGURES = 10, HISTORIES = 300 };
    double levels[RUNS];
    char metric[16];
    size_t alarms = 0;
    state_of_chance = 11;
    for (size_t i = 0; i < RUNS; i++)
        levels[i] = 100;
    for (size_t h = 0; h < HISTORIES; h++) {
        add_runs(RUNS);
        for (size_t f = 0; f < FIGURES; f++) {
            put_text(metric, "rate_%zu", f);
            add_noisy(metric, false, RUNS, levels, 0.03);
        }
        add_noisy("canary_copy", true, RUNS, levels, 0.03);
        judge();
        alarms += history_count(&findings, OUTCOME_SLOWER) +
                      history_count(&findings, OUTCOME_FASTER) +
                      history_count(&findings, OUTCOME_UNCLEAR) >
                  0;
        tear_down(NULL);
    }
    assert_true(alarms <= HISTORIES / 50);
}

/* A figure with too few runs is unknown, and takes no share of the error. */
TEST_WITHIN(history_counts_what_was_not_looked_at, NULL, tear_down)
{
    add_runs(20);
    add_figure("throughput", "higher", false, 20, 20, 1);
    add_figure("latency", "lower", false, CHANGES_RUNS - 1, 20, 1);
    judge();
    const struct finding *whole = find("history", "");
    assert_true(whole && strstr(whole->sentence,
                                "1 figures: 0 SLOWER, 0 FASTER, 0 UNCLEAR because the machine "
                                "changed too, 1 unchanged. 1 more is in fewer than 8 runs"));
}

/* Two arms with the same name are two series if their parameters differ. */
TEST_WITHIN(history_tells_figures_apart, NULL, tear_down)
{
    uint32_t at;
    struct history_figure figure = {
        .arm = "a", .params = "x=1", .metric = "latency", .unit = "ns", .better = "lower"};
    assert_int_equal(history_add_run(&history, &(struct history_run){.run_id = "r"}, &at, NULL), 0);
    assert_int_equal(history_add(&history, &figure, at, 1, NULL), 0);
    put_text(figure.params, "x=2");
    assert_int_equal(history_add(&history, &figure, at, 1, NULL), 0);
    assert_int_equal(history_add(&history, &figure, at, NAN, NULL), 0); /* left out */
    assert_int_equal(history_add(&history, &figure, at, 0, NULL), 0);
    assert_int_equal(history.nseries, 2);
    assert_int_equal(history.series[1].n, 1);
}

/* Levels before and after are written in one style, and never with an exponent. */
TEST_WITHIN(history_writes_levels_with_prefixes, NULL, tear_down)
{
    static const struct {
        const char *metric, *better, *unit, *was, *is;
        double level, ratio;
    } cases[] = {
        {"throughput", "higher", "items/s", "73.8 k items/s", "36.9 k items/s", 73814, 0.5},
        {"step_time", "lower", "s", "203 us", "406 us", 203e-6, 2}};
    add_runs(20);
    for (size_t c = 0; c < 2; c++) {
        struct history_figure figure = figure_of("arm", cases[c].metric, cases[c].better, false);
        put_text(figure.unit, "%s", cases[c].unit);
        for (size_t i = 0; i < 20; i++) {
            bool after = (i * 7 + 3) % 20 >= 12;
            double value = cases[c].level * (after ? cases[c].ratio : 1);
            assert_int_equal(history_add(&history, &figure, (uint32_t)i, value, NULL), 0);
        }
    }
    judge();
    for (size_t c = 0; c < 2; c++) {
        const struct finding *change = find("history_change", cases[c].metric);
        char levels[64];
        assert_non_null(change);
        put_text(levels, "%s -> %s", cases[c].was, cases[c].is);
        assert_has(change->sentence, levels);
        assert_has(change->evidence, levels);
    }
}
