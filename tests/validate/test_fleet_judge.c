/* harness/validate/bounds.h and fleet_judge.h, on fleets whose bad machines are
 * known. */
#include "harness/validate/judge.h"

#include "harness/validate/bounds.h"
#include "tests/lib/fixture_fleet.h"
#include "tests/lib/unit.h"

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

struct judged {
    struct fleet fleet;
    struct bounds bounds;
    struct fleet_judgement judgement;
};

static void judge_arranged(struct judged *judged)
{
    assert_int_equal(bounds_make(&judged->fleet, &judged->bounds, NULL), 0);
    assert_int_equal(fleet_judge(&judged->fleet, &judged->bounds, NULL, &judged->judgement, NULL),
                     0);
}

static void judge(const struct fixture_fleet *with, struct judged *judged)
{
    fixture_fleet_make(with, &judged->fleet);
    judge_arranged(judged);
}

static void free_judged(struct judged *judged)
{
    fleet_judgement_free(&judged->judgement);
    bounds_free(&judged->bounds);
    fleet_free(&judged->fleet);
}

/* The first `nbad` machines are bad: counts the accused among them and among the others. */
static void count(const struct judged *judged, unsigned nbad, unsigned *found, unsigned *accused)
{
    *found = *accused = 0;
    for (size_t i = 0; i < judged->judgement.nmachines; i++) {
        const struct fleet_judged *machine = &judged->judgement.machines[i];
        bool bad = machine->machine < nbad, odd = machine->outcome != OUTCOME_PASS;
        *found += bad && odd;
        *accused += !bad && odd;
    }
}

static const struct fleet_offence *offence_of(const struct judged *judged, uint32_t machine)
{
    for (size_t i = 0; i < judged->judgement.noffences; i++)
        if (judged->judgement.offences[i].machine == machine)
            return &judged->judgement.offences[i];
    return NULL;
}

/* The machine's worst violation as a finding. */
static struct finding finding_of(const struct judged *judged, uint32_t machine)
{
    struct finding finding;
    (void)fleet_finding(&judged->judgement, offence_of(judged, machine), &finding);
    return finding;
}

static const struct fixture_fleet usual = {.machines = 200,
                                           .figures = 60,
                                           .run_spread = 0.03,
                                           .machine_spread = 0.02,
                                           .modes = true,
                                           .seed = 1};

/* Heavy tails and second modes in all figures: at most 0.1% of 6,000 good machines may be
 * accused. */
TEST(bad_figures_are_found_and_good_machines_left_alone)
{
    unsigned found = 0, accused = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fixture_fleet with = {.machines = 303,
                                     .figures = 60,
                                     .run_spread = 0.02,
                                     .machine_spread = 0.02,
                                     .heavy = true,
                                     .modes = true,
                                     .seed = seed,
                                     .nbad = 3,
                                     .ratio = seed % 2 ? 0.5 : 2};
        ENDED_BY(free_judged) struct judged judged = {0};
        unsigned some_found, some_accused;
        judge(&with, &judged);
        count(&judged, 3, &some_found, &some_accused);
        found += some_found;
        accused += some_accused;
    }
    assert_int_equal(found, 60);
    assert_true(accused <= 6);
}

TEST(normal_noise_accuses_nobody)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    judge(&usual, &judged);
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 200);
    assert_int_equal(judged.bounds.n, 60);
    assert_int_equal(judged.bounds.nleft_out, 0);
    for (size_t i = 0; i < judged.bounds.n; i++) {
        const struct bound *bound = &judged.bounds.all[i];
        bool modes = strstr(bound->key, "gpu=1");
        assert_true(bound->lower > (modes ? 0.55 : 0.62) * bound->reference);
        assert_true(bound->lower < 0.9 * bound->reference + 1e-9);
        assert_true(bound->required);
    }
}

/* A machine that its own rules refused fails with any figures, comes first, and makes no bounds. */
TEST(whom_its_own_rules_refused_fails)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    fixture_fleet_make(&usual, &judged.fleet);
    fleet_add_verdict(&judged.fleet, 5, "FAIL: 1 rule (ecc)", false);
    uint32_t machine = judged.fleet.runs[5].machine;
    judge_arranged(&judged);
    assert_int_equal(judged.judgement.count[OUTCOME_FAIL], 1);
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 199);
    assert_int_equal(judged.judgement.machines[0].machine, machine);
    assert_int_equal(judged.bounds.nleft_out, 1);
    const struct finding finding = finding_of(&judged, machine);
    assert_string_equal(finding.id, "fleet_verdict");
    assert_string_equal(finding.sentence, "its own rules: FAIL: 1 rule (ecc)");
}

/* Nearly the same fault in a tenth of the machines does not become normal. */
TEST(a_bad_batch_does_not_hide)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    struct fixture_fleet with = usual;
    with.figures = 1;
    with.nbad = 20;
    with.ratio = 0.5;
    unsigned found, accused;
    judge(&with, &judged);
    count(&judged, with.nbad, &found, &accused);
    assert_int_equal(found, 20);
    assert_int_equal(accused, 0);
    assert_int_equal(judged.bounds.nleft_out, 20);
    assert_int_equal(judged.bounds.machines, 180);
}

TEST(missing_units_are_named)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    struct fixture_fleet with = usual;
    with.machines = 30;
    with.nbad = 2;
    with.lacks = true;
    judge(&with, &judged);
    assert_int_equal(judged.judgement.count[OUTCOME_FAIL], 2);
    const struct fleet_offence *offence = offence_of(&judged, 1);
    assert_non_null(offence);
    assert_int_equal(offence->kind, OFFENCE_LACKS);
    assert_int_equal(offence->count, 30);
    assert_string_equal(finding_of(&judged, 1).sentence, "lacks gpu=1: 30 figures");
}

/* The newest runs of a machine count, however good it was before. */
TEST(a_machine_that_became_worse_is_found)
{
    unsigned found = 0, accused = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct fixture_fleet with = usual;
        ENDED_BY(free_judged) struct judged judged = {0};
        with.machines = 40;
        with.runs = 8;
        with.nbad = 2;
        with.ratio = 0.4;
        with.drifts = true;
        with.seed = seed;
        unsigned some_found, some_accused;
        judge(&with, &judged);
        count(&judged, with.nbad, &some_found, &some_accused);
        found += some_found;
        accused += some_accused;
        const struct fleet_offence *offence = offence_of(&judged, 1);
        assert_non_null(offence);
        assert_int_equal(offence->kind, OFFENCE_FIGURE);
        assert_has(finding_of(&judged, 1).evidence, " in the first of 8 runs");
    }
    assert_int_equal(found, 20);
    assert_int_equal(accused, 0);
}

/* Each figure is within its bounds, but all are 8% lower. */
TEST(a_machine_that_is_worse_in_all_is_odd)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    struct fixture_fleet with = usual;
    with.run_spread = with.machine_spread = 0.01;
    with.modes = false;
    fixture_fleet_make(&with, &judged.fleet);
    for (size_t i = 0; i < judged.fleet.ncells; i++)
        if (judged.fleet.cells[i].machine == 7)
            judged.fleet.cells[i].value *= 0.92;
    assert_int_equal(bounds_make(&judged.fleet, &judged.bounds, NULL), 0);
    for (size_t i = 0; i < judged.bounds.n; i++)
        judged.bounds.all[i].lower = 0.8 * judged.bounds.all[i].reference;
    assert_int_equal(fleet_judge(&judged.fleet, &judged.bounds, NULL, &judged.judgement, NULL), 0);
    assert_int_equal(judged.judgement.count[OUTCOME_WARN], 1);
    assert_int_equal(judged.judgement.count[OUTCOME_FAIL], 0);
    assert_int_equal(offence_of(&judged, 7)->kind, OFFENCE_OVERALL);
}

/* With 4 machines the spread comes from other fleets, and the report says so. */
TEST(few_machines_have_the_bounds_of_others)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    const double values[] = {100, 100.1, 99.9, 100.05};
    char name[16];
    for (int i = 0; i < 4; i++) {
        put_text(name, "m%d", i);
        fixture_fleet_add(&judged.fleet, name, 1, 0, values[i]);
    }
    assert_int_equal(fleet_arrange(&judged.fleet, NULL), 0);
    judge_arranged(&judged);
    assert_near(judged.bounds.all[0].spread, BOUNDS_PRIOR * sqrt(1 + 1.571 / 4), 1e-6);
    assert_has(judged.bounds.how, "4 machines do not show how far machines differ");
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 4);
}

static void add_of_kind(struct fleet *fleet, const char *name, const char *kind)
{
    uint32_t run;
    const struct fleet_origin origin = {name, "", kind, 1};
    assert_int_equal(fleet_add_run(fleet, &origin, &run, NULL), 0);
}

/* A machine of another kind lacks figures, but only its kind is reported. */
TEST(another_kind_is_left_out_and_fails)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    fixture_fleet_add(&judged.fleet, "a", 1, 0, 100);
    fixture_fleet_add(&judged.fleet, "b", 1, 0, 101);
    fixture_fleet_add(&judged.fleet, "d", 1, 0, 101);
    add_of_kind(&judged.fleet, "c", "1 x CPU, 1 GPU");
    assert_int_equal(fleet_arrange(&judged.fleet, NULL), 0);
    judge_arranged(&judged);
    assert_int_equal(judged.bounds.nleft_out, 1);
    assert_string_equal(judged.bounds.left_out[0].machine, "c");
    assert_string_equal(judged.bounds.left_out[0].reason, "another kind: 1 x CPU, 1 GPU");
    assert_true(judged.bounds.all[0].required);
    assert_int_equal(judged.judgement.count[OUTCOME_FAIL], 1);
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 3);
    assert_int_equal(judged.judgement.noffences, 1);
    assert_int_equal(offence_of(&judged, 3)->kind, OFFENCE_KIND);
}

/* With two kinds, or three of at most two machines each, none is chosen as the right one. */
TEST(the_first_kind_is_not_the_right_one)
{
    static const char *const fleets[] = {"xy", "xxy", "xxyyz", "xxxyyy"};
    for (size_t f = 0; f < sizeof(fleets) / sizeof(fleets[0]); f++) {
        AUTO(fleet) fleet = {0};
        AUTO(bounds) bounds = {0};
        struct err err = {0};
        for (size_t i = 0; fleets[f][i]; i++) {
            char name[16], kind[16];
            put_text(name, "m%zu", i);
            put_text(kind, "1 x %c", fleets[f][i]);
            add_of_kind(&fleet, name, kind);
        }
        assert_int_equal(fleet_arrange(&fleet, &err), 0);
        assert_int_equal(bounds_make(&fleet, &bounds, &err), -ENODATA);
        if (!strstr(err.msg, "machines of several kinds") || !strstr(err.msg, " of '1 x y'"))
            fail_msg("%s: %s", fleets[f], err.msg);
    }
}

/* Bounds written by a person are used as they are. */
static void judge_by(struct judged *judged, double lower, double upper, bool higher, int expected)
{
    char key[FLEET_KEY_MAX];
    const struct bound bound = {.key = fixture_fleet_key(0, key),
                                .unit = "GB/s",
                                .higher = higher,
                                .reference = 100,
                                .lower = lower,
                                .upper = upper};
    fleet_judgement_free(&judged->judgement);
    bounds_free(&judged->bounds);
    assert_int_equal(bounds_add(&judged->bounds, &bound, NULL), 0);
    assert_int_equal(fleet_judge(&judged->fleet, &judged->bounds, NULL, &judged->judgement, NULL),
                     expected);
}

/* A machine counts as disturbed if most of its runs were; more runs do not excuse a failure. */
TEST(one_disturbed_run_of_three_is_no_excuse)
{
    for (unsigned noisy = 0; noisy <= 3; noisy++) {
        ENDED_BY(free_judged) struct judged judged = {0};
        char key[FLEET_KEY_MAX];
        for (unsigned run = 0; run < 3; run++) {
            const struct fleet_origin origin = {"a", "", "", run};
            const struct fleet_figure figure = {
                .unit = "GB/s", .higher = true, .noisy = run < noisy, .value = 50};
            uint32_t at;
            (void)fixture_fleet_key(0, key);
            assert_int_equal(fleet_add_run(&judged.fleet, &origin, &at, NULL), 0);
            assert_int_equal(fleet_add_value(&judged.fleet, at, key, strlen(key), &figure, NULL),
                             0);
        }
        assert_int_equal(fleet_arrange(&judged.fleet, NULL), 0);
        judge_by(&judged, 90, 110, true, 0);
        assert_int_equal(judged.judgement.machines[0].outcome,
                         noisy < 2 ? OUTCOME_FAIL : OUTCOME_WARN);
    }
}

/* A machine of the right kind without any judged figure does not pass. */
TEST(whom_nothing_was_judged_of_does_not_pass)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    AUTO(findings) findings = {0};
    fixture_fleet_add(&judged.fleet, "a", 1, 0, 100);
    fixture_fleet_add(&judged.fleet, "b", 1, 1, 100);
    assert_int_equal(fleet_arrange(&judged.fleet, NULL), 0);
    judge_by(&judged, 90, 110, true, 0);
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 1);
    assert_int_equal(judged.judgement.count[OUTCOME_SKIP], 1);
    assert_int_equal(judged.judgement.machines[0].outcome, OUTCOME_SKIP);
    fleet_findings(&judged.judgement, &findings);
    assert_int_equal(findings.n, 2);
    assert_int_equal(findings.all[0].outcome, OUTCOME_SKIP);
    assert_string_equal(findings.all[0].sentence, "not judged: no bound is for its figures");
}

/* Neither pass nor failure if its figures are only odd; violated bounds are a failure. */
TEST(whom_its_own_rules_could_not_judge_does_not_pass)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    const float figures[] = {100, 120, 80};
    static const enum finding_outcome outcomes[] = {OUTCOME_FAIL, OUTCOME_SKIP, OUTCOME_SKIP};
    for (uint32_t i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), 0};
        fixture_fleet_add(&judged.fleet, name, 1, 0, figures[i]);
        fleet_add_verdict(&judged.fleet, i, "SKIP: no GPU was judged", true);
    }
    assert_int_equal(fleet_arrange(&judged.fleet, NULL), 0);
    judge_by(&judged, 90, 110, true, 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(judged.judgement.machines[i].outcome, outcomes[i]);
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 0);
    assert_int_equal(judged.judgement.count[OUTCOME_SKIP], 2);
    const struct fleet_judged *last = &judged.judgement.machines[2];
    struct finding finding;
    (void)fleet_finding(&judged.judgement,
                        &judged.judgement.offences[last->first + last->noffences - 1], &finding);
    assert_string_equal(finding.sentence, "its own rules: SKIP: no GPU was judged");
}

TEST(given_bounds_decide)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    fixture_fleet_add(&judged.fleet, "a", 1, 0, 100);
    fixture_fleet_add(&judged.fleet, "b", 1, 0, 120);
    assert_int_equal(fleet_arrange(&judged.fleet, NULL), 0);
    judge_by(&judged, 99, 121, true, 0);
    assert_int_equal(judged.judgement.count[OUTCOME_PASS], 2);
    judge_by(&judged, 101, NAN, true, 0);
    assert_int_equal(judged.judgement.count[OUTCOME_FAIL], 1);
    assert_int_equal(judged.judgement.machines[0].machine, 0);
    judge_by(&judged, NAN, 110, true, 0); /* better than all others is a warning, no failure */
    assert_int_equal(judged.judgement.count[OUTCOME_FAIL], 0);
    assert_int_equal(judged.judgement.count[OUTCOME_WARN], 1);
    judge_by(&judged, NAN, 110, false, -EINVAL);
    judged.fleet.cells[0].noisy = true;
    judge_by(&judged, 101, NAN, true, 0);
    assert_int_equal(judged.judgement.count[OUTCOME_WARN], 1);
}

TEST(findings_name_all_machines)
{
    ENDED_BY(free_judged) struct judged judged = {0};
    AUTO(findings) findings = {0};
    struct fixture_fleet with = usual;
    with.machines = 30;
    with.figures = 2;
    with.nbad = 1;
    with.ratio = 0.5;
    judge(&with, &judged);
    fleet_findings(&judged.judgement, &findings);
    assert_int_equal(findings.n, 30);
    const struct finding *bad = &findings.all[0];
    assert_string_equal(bad->subject, "m0");
    assert_string_equal(bad->id, "fleet_figure");
    assert_int_equal(bad->outcome, OUTCOME_FAIL);
    assert_string_equal(bad->metric, "rate");
    assert_string_equal(bad->unit, "GB/s");
    assert_true(bad->value < bad->low && bad->low < bad->high);
    assert_int_equal(findings.all[1].outcome, OUTCOME_PASS);
}
