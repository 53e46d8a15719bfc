/* What placements retain under doses of contention, on curves whose answers are known. */
#include "harness/verdict/runs/dosing.h"

#include "harness/show/figures/dat.h"
#include "harness/show/json/forms.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

enum { ROUNDS = 5 };

/* Plans the arms on four of six CPUs; 0 or the error. */
static int arrange(struct dosing *dosing, struct topo *topo, struct result *result, struct err *err)
{
    const struct topo_options options = {.xml = "package:1 core:6 pu:1"};
    static const enum placement placements[] = {PLACE_NONE, PLACE_SIZED, PLACE_PARTITION};
    static const int64_t params[2] = {64, 8};
    const bool optional[3] = {true, true, true};
    const unsigned workers = 2;
    struct arms_request request = {.bench = &fixture_bench,
                                   .params = params,
                                   .placements = placements,
                                   .nplacements = 3,
                                   .optional = optional,
                                   .workers = &workers,
                                   .nworkers = 1};
    for (unsigned cpu = 0; cpu < 4; cpu++)
        bitset_set(&request.plan.cpus, cpu);
    assert_int_equal(topo_load(&options, topo, err), 0);
    fixture_result_init(result);
    result->purpose = PURPOSE_DOSE;
    return dosing_arrange(dosing, topo, &request, result, err);
}

/* Without a dose a step takes 10 ms. partition loses the dose itself, none twice as much or
 * more. */
static double step_ms(const struct arm *arm, unsigned round, double jitter)
{
    bool owns = arm->placement == PLACE_PARTITION;
    double kept = 1 - (owns ? 1 : 2) * arm->dose.level;
    return (owns ? 10 : 12) / kept * (1 + jitter * (round % 3));
}

/* Doses are held one percentage point below their level. */
static void set_held(const struct arm *arm, const struct observation *observation)
{
    const struct worker_result *last = &observation->workers[observation->nworkers - 1];
    for (size_t i = 0; i < last->nsamples; i++)
        last->samples[i].rate = arm->dose.level - 0.01;
}

static void measure(const char *doses, double jitter, struct dosing *dosing, struct topo *topo,
                    struct result *result)
{
    struct err err = {0};
    *dosing = (struct dosing){.doses = doses};
    if (arrange(dosing, topo, result, &err))
        fail_msg("%s", err.msg);
    result->rounds_planned = result->rounds_done = ROUNDS;
    for (size_t i = 0; i < result->narms; i++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            const struct arm *arm = &result->arms[i];
            double own = dose_is_idle(&arm->dose) ? 0 : arm->placement == PLACE_NONE ? jitter : 0;
            set_held(arm, fixture_add_even_round(result, i, round, step_ms(arm, round, own), 5));
        }
}

TEST(dosing_plans_each_placement_under_each_dose)
{
    static const char *const names[] = {"none+cpu-0",      "none+cpu-5",      "none+cpu-20",
                                        "partition+cpu-0", "partition+cpu-5", "partition+cpu-20"};
    struct dosing dosing = {.doses = "cpu=20,5,20%"};
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    assert_int_equal(arrange(&dosing, &topo, &result, NULL), 0);
    assert_int_equal(result.narms,
                     6); /* `sized` and the scenario's other placements are left out */
    for (size_t i = 0; i < result.narms; i++) {
        assert_string_equal(arm_name(&result.arms[i]), names[i]);
        assert_int_equal(result.arms[i].plan.has_dose, i % 3 != 0);
    }
}

/* A bandwidth dose is stronger if less bandwidth is left; it runs on the CPUs that the workers
 * lack. */
TEST(dosing_begins_where_nothing_is_taken)
{
    static const double levels[] = {1, 0.8, 0.5};
    struct dosing dosing = {.doses = "bandwidth=0.5,0.8"};
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct dosing_curves curves;
    assert_int_equal(arrange(&dosing, &topo, &result, NULL), 0);
    assert_string_equal(arm_name(&result.arms[1]), "none+bandwidth-0.8");
    result.rounds_planned = result.rounds_done = 1;
    for (size_t i = 0; i < result.narms; i++) {
        (void)fixture_add_even_round(&result, i, 0, 10 / (0.5 + result.arms[i].dose.level / 2), 5);
        if (dose_is_idle(&result.arms[i].dose)) /* as a file may have it */
            result.arms[i].dose = (struct dose){DOSE_CPU, 0};
    }
    ANALYSED(analysis, &result);
    assert_true(dosing_read(&analysis, &curves));
    assert_int_equal(curves.kind, DOSE_BANDWIDTH);
    assert_int_equal(curves.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(curves.level[i] == levels[i]);
        assert_true(fixture_near(curves.point[1][i].retention.ratio, 0.5 + levels[i] / 2, 1e-6));
    }
}

TEST(dosing_refuses_doses_that_compare_nothing)
{
    static const struct {
        const char *doses, *message;
    } cases[] = {{"cpu=0,0", "takes nothing"},
                 {"cpu=0,x", "is not KIND=LEVEL"},
                 {"cpu=0,95%", "from 0 to 0.8"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dosing dosing = {.doses = cases[i].doses};
        AUTO(topo) topo;
        ENDED_BY(fixture_result_free) struct result result;
        struct err err = {0};
        assert_int_equal(arrange(&dosing, &topo, &result, &err), -EINVAL);
        assert_has(err.msg, cases[i].message);
    }
}

TEST(dosing_says_what_each_placement_keeps_and_how_to_apply_the_best)
{
    struct dosing dosing;
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct dosing_curves curves;
    AUTO(findings) findings = {0};
    measure("cpu=10,20,40%", 0.02, &dosing, &topo, &result);
    ANALYSED(analysis, &result);
    assert_true(dosing_read(&analysis, &curves));
    assert_int_equal(curves.n, 4);
    assert_int_equal(curves.nplacements, 2);
    for (size_t i = 0; i < curves.n; i++) {
        const struct dosing_point *owns = &curves.point[1][i];
        assert_true(
            fixture_near(owns->retention.ratio, dosing_expected(DOSE_CPU, curves.level[i]), 1e-6));
        assert_true(fixture_near(owns->p99, 1 / owns->retention.ratio, 1e-6));
        assert_true(i ? fabs(owns->held - curves.level[i] + 0.01) < 1e-9 : isnan(owns->held));
    }
    assert_true(fixture_near(curves.point[0][2].retention.high, 0.6, 1e-6));
    assert_true(fixture_near(curves.point[0][2].retention.low, 0.6 / 1.04, 1e-6));
    dosing_judge(&analysis, &findings);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.all[0].sentence,
                        "At cpu=20% partition keeps 80% of its throughput (80% to 80%), none 59% "
                        "(58% to 60%); the dose alone would leave 80%. partition is the fastest "
                        "there, 1.63x none, range 1.60x to 1.66x. It also keeps the most.");
    assert_string_equal(findings.all[0].command, "contend place --workers 2 --placement partition");
    json_auto_t *json = dosing_to_json(&analysis);
    json_t *points = json_object_get(json_array_get(json_object_get(json, "curves"), 1), "points");
    assert_true(fixture_near(
        json_number_value(json_object_get(json_array_get(points, 3), "retention")), 0.6, 1e-6));
}

/* In one round under the dose, the workers of a placement take this time for each step. */
static void set_round(struct result *result, enum placement placement, double step)
{
    const double steps_ms[] = {step, step, step, step, step};
    for (size_t i = 0; i < result->narms; i++)
        if (!dose_is_idle(&result->arms[i].dose) && result->arms[i].placement == placement)
            for (unsigned w = 0; w < 2; w++)
                fixture_set_steps(&result->arms[i].observations[0].workers[w], steps_ms, 5);
}

/* The advice is the placement that is clearly the fastest, also if it loses more. */
TEST(dosing_advises_what_is_faster_in_every_round)
{
    for (int slow_once = 0; slow_once < 2; slow_once++) {
        struct dosing dosing;
        AUTO(topo) topo;
        ENDED_BY(fixture_result_free) struct result result;
        AUTO(findings) findings = {0};
        measure("cpu=1%", 0.1, &dosing, &topo, &result);
        set_round(&result, PLACE_NONE, 12); /* where it loses nothing */
        if (slow_once)
            set_round(&result, PLACE_PARTITION, 13);
        ANALYSED(analysis, &result);
        dosing_judge(&analysis, &findings);
        assert_int_equal(findings.n, 1);
        assert_lacks(findings.all[0].sentence, "keeps the most");
        assert_has(findings.all[0].sentence,
                   slow_once ? "No placement is clearly" : "partition is the fastest");
        assert_string_equal(findings.all[0].command,
                            slow_once ? "" : "contend place --workers 2 --placement partition");
    }
}

TEST(dosing_takes_no_dose_that_failed)
{
    struct dosing dosing;
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct dosing_curves curves;
    AUTO(findings) findings = {0};
    measure("cpu=20%", 0, &dosing, &topo, &result);
    result.arms[1].observations[1].status = STATUS_FAILED; /* the round of none at 20% */
    ANALYSED(analysis, &result);
    assert_true(dosing_read(&analysis, &curves));
    assert_true(isnan(curves.point[0][1].retention.ratio) && isnan(curves.point[0][1].rate));
    dosing_judge(&analysis, &findings);
    assert_string_equal(findings.all[0].sentence,
                        "At cpu=20% partition keeps 80% of its throughput (80% to 80%); the dose "
                        "alone would leave 80%.");
    assert_string_equal(findings.all[0].command, "");
}

/* One line for each placement, at the doses that were held, and one for what the dose itself
 * takes. */
static void draw(const char *doses)
{
    struct dosing dosing;
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    FREED char *text = NULL;
    measure(doses, 0, &dosing, &topo, &result);
    ANALYSED(analysis, &result);
    const struct figure_data data = {.analysis = &analysis, .result = &result, .host = "h"};
    FILE *out = unit_print_into(&text);
    assert_int_equal(figure_dosing(&data, out, NULL), 0);
    assert_int_equal(fclose(out), 0);
    assert_has(text, "\n0 100 100 100\n19 60 60 60\n");
    assert_has(text, "\n0 100 100 100\n19 80 80 80\n");
    assert_has(text, "\n0 100 nan nan\n20 80 nan nan\n");
}

TEST(dosing_draws_what_is_kept_over_what_was_held)
{
    draw("cpu=20%");
    draw("throttle=20%");
}

/* A scan has no throughput: for a collective its bus bandwidth at the largest size counts, by
 * round. */
TEST(dosing_of_a_scan_is_what_compare_gates)
{
    static const enum placement placements[] = {PLACE_NONE, PLACE_PARTITION};
    struct fixture_scan_machine machine = fixture_gpus;
    ENDED_BY(fixture_result_free) struct result result;
    struct dosing_curves curves;
    machine.placements = placements;
    machine.nplacements = 2;
    fixture_scans_make(&machine, "collective", &result);
    result.arms[1].placement = PLACE_NONE;
    result.arms[1].dose = (struct dose){DOSE_CPU, 0.2};
    ANALYSED(analysis, &result);
    assert_true(dosing_has(result.arms[0].bench) && dosing_read(&analysis, &curves));
    const struct dims *at = &curves.what.dims;
    const unsigned by_size = dim_find_kind(result.arms[0].bench, DIM_BYTES);
    assert_string_equal(curves.what.metric, "collective_busbw");
    assert_near(dims_number(result.arms[0].bench, at, by_size), 128 << 20);
    const struct row *idle = rows_at(&analysis.rows, &result.arms[0], "collective_busbw", at);
    const struct row *dosed = rows_at(&analysis.rows, &result.arms[1], "collective_busbw", at);
    const struct dosing_point *point = &curves.point[0][1];
    assert_near(point->rate, dosed->median);
    assert_int_equal(point->retention.rounds, machine.rounds);
    assert_true(point->retention.low <= dosed->max / idle->min &&
                point->retention.high >= dosed->min / idle->max);
    assert_true(isnan(point->p99));
}
