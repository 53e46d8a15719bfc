/* Doses that were not held: the worst is named, with the reason if the plan shows it. */
#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static const struct finding *find(const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->findings.n; i++)
        if (strcmp(verdict->findings.all[i].id, "dose_not_held") == 0)
            return &verdict->findings.all[i];
    return NULL;
}

static const struct dose_case {
    enum placement placement; /* of two arms; the other one held its dose */
    struct dose dose;
    double held;
    const char *sentence; /* NULL = held */
} cases[] = {
    ENTRY(PLACE_PARTITION, {DOSE_CPU, 0.4}, 0.419, NULL),
    ENTRY(PLACE_PARTITION, {DOSE_CPU, 0.4}, 0.43,
          "The dose of cpu=40% was not held under partition: 43%."),
    ENTRY(PLACE_NONE, {DOSE_CPU, 0.4}, 0.308,
          "The dose of cpu=40% was not held under none: 31%. The workers have more threads than "
          "CPUs, which compete with it."),
    ENTRY(PLACE_PARTITION, {DOSE_BANDWIDTH, 0.8}, 0.825, NULL),
    ENTRY(PLACE_PARTITION, {DOSE_BANDWIDTH, 0.5}, 0.62,
          "The dose of bandwidth=0.5 was not held under partition: 0.62. The 8 CPUs beside the "
          "workers may be too few: leave it more (--cpus)."),
    ENTRY(PLACE_PARTITION, {DOSE_LATENCY, 2}, 2.09, NULL),
    ENTRY(PLACE_PARTITION, {DOSE_LATENCY, 2}, 2.2,
          "The dose of latency=2 was not held under partition: 2.2."),
    ENTRY(PLACE_PARTITION, {DOSE_CACHE, 0.5}, 0.54, NULL),
    ENTRY(PLACE_PARTITION, {DOSE_CACHE, 0.5}, 0.8,
          "The dose of cache=0.5 was not held under partition: 0.8. The 8 CPUs beside the workers "
          "may be too few: leave it more (--cpus)."),
    ENTRY(PLACE_PARTITION, {DOSE_H2D, 0.7}, 0.72, NULL),
    ENTRY(
        PLACE_PARTITION, {DOSE_H2D, 0.4}, 0.51,
        "The dose of h2d=0.4 was not held under partition: 0.51. The workers' own copies take the "
        "rest of the link."),
    ENTRY(PLACE_PARTITION, {DOSE_THROTTLE, 0.2}, 0.185, NULL),
    ENTRY(PLACE_PARTITION, {DOSE_THROTTLE, 0.2}, 0.05,
          "The dose of throttle=20% was not held under partition: 5%. A quota hardly stops workers "
          "that wait."),
    ENTRY(PLACE_PARTITION, {DOSE_THROTTLE, 0.2}, 0.25,
          "The dose of throttle=20% was not held under partition: 25%."),
};

/* Two arms with the same dose: the first holds it as the case says, the other exactly. */
static void check_case(const struct dose_case *of)
{
    EMPTY_RESULT(result);
    size_t arm = fixture_add_arm(&result, of->placement, 2, false);
    size_t other = fixture_add_arm(&result, PLACE_CORES, 2, false);
    for (unsigned round = 0; round < 3; round++) {
        (void)fixture_add_even_round(&result, arm, round, 10, 4);
        (void)fixture_add_even_round(&result, other, round, 10, 4);
    }
    fixture_add_dose(&result, arm, of->dose, of->held);
    fixture_add_dose(&result, other, of->dose, of->dose.level);
    JUDGED(verdict, &result);
    const struct finding *finding = find(&verdict);
    assert_int_equal(finding != NULL, of->sentence != NULL);
    if (finding)
        assert_string_equal(finding->sentence, of->sentence);
}

TEST(doses_that_were_not_held_are_named)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_case(&cases[i]);
}

/* A curve's arm is a variant whose name has the dose in it, which the sentence has already. */
TEST(doses_of_a_curve_are_named_by_their_placement)
{
    struct variant variant = {.name = "none+cpu-40"};
    EMPTY_RESULT(result);
    result.purpose = PURPOSE_DOSE;
    size_t arm = fixture_add_arm(&result, PLACE_NONE, 2, false);
    result.arms[arm].variant = &variant;
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(&result, arm, round, 10, 4);
    fixture_add_dose(&result, arm, (struct dose){DOSE_CPU, 0.4}, 0.45);
    JUDGED(verdict, &result);
    const struct finding *finding = find(&verdict);
    assert_non_null(finding);
    assert_string_equal(finding->sentence, "The dose of cpu=40% was not held under none: 45%.");
}
