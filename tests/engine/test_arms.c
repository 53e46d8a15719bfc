/* The slice of a baseline in each round, and baselines that are measured once for several arms. */
#include "harness/engine/arms.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

enum { SLOTS = 4, ROUNDS = 12 };

/* The number of turns of each of the arm's slots, as in "3330". */
static const char *turns(const struct arm *arm, uint64_t seed)
{
    static char text[SLOTS + 1];
    unsigned count[SLOTS] = {0};
    for (unsigned round = 0; round < ROUNDS; round++)
        count[arms_slot(arm, seed, round)]++;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        text[slot] = (char)('0' + count[slot]);
    return text;
}

static struct arm *one_alone(struct result *result, enum placement placement)
{
    fixture_result_init(result);
    size_t arm = fixture_add_arm(result, placement, SLOTS, true);
    return &result->arms[arm];
}

TEST(arms_baselines_have_all_slices_in_turn)
{
    ENDED_BY(fixture_result_free) struct result result;
    struct arm *arm = one_alone(&result, PLACE_PARTITION);
    unsigned first[SLOTS] = {0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        assert_string_equal(turns(arm, seed), "3333");
        first[arms_slot(arm, seed, 0)]++;
        assert_int_equal(arms_slot(arm, seed, 1), (arms_slot(arm, seed, 0) + 1) % SLOTS);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++)
        assert_true(first[slot] > 0);
    assert_int_equal(arms_slices(arm), SLOTS);
}

TEST(arms_smaller_slices_have_no_turn)
{
    ENDED_BY(fixture_result_free) struct result result;
    struct arm *arm = one_alone(&result, PLACE_PARTITION);
    bitset_clear(&arm->plan.workers[SLOTS - 1].cpus, FIXTURE_CPUS - 1);
    assert_string_equal(turns(arm, 1), "4440");
}

/* Unpinned workers differ only in their GPUs, and two workers may share a GPU. */
TEST(arms_equal_slices_have_one_turn)
{
    ENDED_BY(fixture_result_free) struct result result;
    struct arm *arm = one_alone(&result, PLACE_NONE);
    assert_string_equal(turns(arm, 1), "<000");
    for (unsigned slot = 0; slot < SLOTS; slot++)
        arm->plan.workers[slot].gpu = (int)(slot % 3);
    assert_string_equal(turns(arm, 1), "4440");
}

TEST(arms_only_baselines_take_turns)
{
    EMPTY_RESULT(result);
    size_t arm = fixture_add_arm(&result, PLACE_PARTITION, SLOTS, false);
    assert_string_equal(turns(&result.arms[arm], 1), "<000");
    assert_int_equal(arms_slices(&result.arms[arm]), 1);
}

/* All baselines of `none` are one; those of `same` and `partition` share the first slice. */
TEST(arms_same_slices_are_measured_once)
{
    static const struct bench bench = {.name = "bench"};
    const struct topo_options options = {.xml = "package:1 core:8 pu:1"};
    const enum placement placements[] = {PLACE_NONE, PLACE_SAME, PLACE_PARTITION, PLACE_CORES};
    const unsigned workers[] = {2, 4};
    const struct arms_request request = {.bench = &bench,
                                         .placements = placements,
                                         .nplacements = 4,
                                         .workers = workers,
                                         .nworkers = 2,
                                         .baselines = true};
    AUTO(topo) topo = {0};
    ENDED_BY(arms_free) struct result result = {0};
    struct err err = {0};
    if (topo_load(&options, &topo, &err) || arms_add(&topo, &request, &result, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < result.narms; i++) {
        const struct arm *arm = &result.arms[i];
        bool repeats =
            arm->is_baseline && arm->placement == PLACE_NONE && arm->planned_workers == 4;
        assert_int_equal(arm->same_as, repeats ? 1 : -1);
    }
}

/* Baselines run on the idle machine, also those of one worker: under a dose a worker is not
 * alone. */
TEST(arms_have_a_dose_but_baselines)
{
    static const struct bench bench = {.name = "bench"};
    const struct topo_options options = {.xml = "package:1 core:4 pu:1"};
    const enum placement placement = PLACE_PARTITION;
    const unsigned workers[] = {1, 2};
    struct arms_request request = {.bench = &bench,
                                   .placements = &placement,
                                   .nplacements = 1,
                                   .workers = workers,
                                   .nworkers = 2,
                                   .baselines = true,
                                   .dose = {DOSE_CPU, 0.2}};
    AUTO(topo) topo = {0};
    ENDED_BY(arms_free) struct result result = {0};
    struct err err = {0};
    if (topo_load(&options, &topo, &err) || arms_add(&topo, &request, &result, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(result.narms, 4);
    for (size_t i = 0; i < result.narms; i++) {
        const struct arm *arm = &result.arms[i];
        assert_int_equal(arm->is_baseline, i % 2);
        assert_true(arm->dose.level == (arm->is_baseline ? 0 : 0.2));
        assert_int_equal(arm->plan.has_dose, !arm->is_baseline);
        assert_int_equal(arm_background(arm), !arm->is_baseline);
    }
    assert_true(result_dose(&result) && result_dose(&result)->level == 0.2);
    result.arms[2].dose.level = 0.4;
    assert_null(result_dose(&result));
    arms_free(&result);

    request.dose.level = 0; /* no dose */
    if (arms_add(&topo, &request, &result, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(result.narms, 3);
    assert_int_equal(result.arms[1].plan.nworkers, 2);
    assert_null(result_dose(&result));
}
