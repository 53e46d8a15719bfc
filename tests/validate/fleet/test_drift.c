/* harness/validate/fleet/drift.h: the trend of a figure over the runs of a machine. */
#include "harness/validate/fleet/drift.h"

#include <math.h>

#include "tests/lib/fixture_fleet.h"
#include "tests/lib/unit.h"

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

TEST(a_line_is_its_change)
{
    const double falling[] = {0, -0.1, -0.2, -0.3, -0.4};
    assert_near(drift_change(falling, 5), -0.4, 1e-12);
    assert_near(drift_change(falling, 2), -0.1, 1e-12);
}

TEST(a_spike_is_no_trend)
{
    const double first[] = {5, 0, 0, 0, 0, 0}, last[] = {0, 0, 0, 0, 0, -5};
    assert_near(drift_change(first, 6), 0, 1e-12);
    assert_near(drift_change(last, 6), 0, 1e-12);
}

/* Of 5 values at 0..4 the sum of squares is 10: 4 / sqrt(10). */
TEST(spread_is_that_of_a_slope)
{
    assert_near(drift_spread(5), 4 / sqrt(10), 1e-12);
    assert_near(drift_spread(2), sqrt(2), 1e-12);
}

TEST(noise_comes_from_neighbours)
{
    struct fleet fleet;
    fixture_fleet_make(&(struct fixture_fleet){.machines = 400,
                                               .figures = 1,
                                               .runs = 6,
                                               .run_spread = 0.03,
                                               .machine_spread = 0.2,
                                               .nbad = 40,
                                               .ratio = 0.8,
                                               .drifts = true,
                                               .seed = 3},
                       &fleet);
    double *scratch = calloc(fleet.nvalues + 1, sizeof(*scratch));
    assert_non_null(scratch);
    assert_near(drift_noise(&fleet, 0, scratch), 0.03, 0.003);
    free(scratch);
    fleet_free(&fleet);
}

TEST(noise_of_few_pairs_is_the_prior)
{
    struct fleet fleet;
    double scratch[64];
    fixture_fleet_make(
        &(struct fixture_fleet){
            .machines = 5, .figures = 1, .runs = 4, .run_spread = 0.001, .seed = 3},
        &fleet);
    assert_near(drift_noise(&fleet, 0, scratch), DRIFT_PRIOR, 1e-12);
    fleet_free(&fleet);
}
