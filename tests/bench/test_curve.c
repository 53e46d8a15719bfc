/* Steps and knees of curves, compared with the known ones. */
#include "bench/memory/curve.h"

#include "harness/lib/stats.h"
#include "tests/lib/unit.h"

enum { KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30 };

/* 4 KiB to 1 GiB, two sizes an octave, as mem_latency measures. */
struct curve {
    struct curve_point points[CURVE_POINTS_MAX];
    size_t n;
};

/* Latency is ns[i] up to and including limits[i] bytes, and ns[count] beyond all limits. */
static void draw(struct curve *curve, const double *limits, size_t count, const double *ns)
{
    curve->n = 0;
    for (uint64_t power = 4096; power <= GIB; power *= 2)
        for (int half = 0; half < 2; half++) {
            double size = (double)(half ? power / 2 * 3 : power);
            size_t level = 0;
            while (level < count && size > limits[level])
                level++;
            curve->points[curve->n++] = (struct curve_point){size, ns[level]};
        }
}

/* Adds noise of at most `share`, the same for each seed. */
static void shake(struct curve *curve, double share, uint64_t seed)
{
    for (size_t i = 0; i < curve->n; i++)
        curve->points[i].latency_ns *= 1 + share * (2 * random_share(&seed) - 1);
}

static const double caches[] = {32 * KIB, 2 * MIB, 32 * MIB};
static const double latency_ns[] = {1.2, 4.5, 20, 95};

/* Each step lies between the last size that fits its cache and the first size that does not. */
static void assert_three_caches(const struct curve *curve, double tolerance)
{
    struct curve_step steps[CURVE_STEPS_MAX];
    assert_int_equal(curve_find_steps(curve->points, curve->n, steps), 3);
    for (int i = 0; i < 3; i++) {
        assert_true(steps[i].size_bytes >= caches[i] * (1 - tolerance));
        assert_true(steps[i].size_bytes <= caches[i] * 1.5 * (1 + tolerance));
    }
}

TEST(curve_three_caches)
{
    struct curve curve;
    draw(&curve, caches, 3, latency_ns);
    assert_three_caches(&curve, 0);
}

TEST(curve_three_caches_in_noise)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct curve curve;
        draw(&curve, caches, 3, latency_ns);
        shake(&curve, 0.1, seed);
        assert_three_caches(&curve, 0.1);
    }
}

/* A quarter of the way up on a log scale: from 1 to 16 ns between 32 and 48 KiB, the curve passes 2
 * ns there. */
TEST(curve_step_lies_at_its_foot)
{
    struct curve curve;
    struct curve_step steps[CURVE_STEPS_MAX];
    draw(&curve, caches, 1, (const double[]){1, 16});
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 1);
    double want = 32 * KIB * pow(1.5, 0.25);
    assert_true(fabs(steps[0].size_bytes - want) < 1);
}

/* Misses that increase slowly, in pieces shorter than an octave, are one step and not several. */
TEST(curve_slope_is_one_step)
{
    struct curve curve;
    struct curve_step steps[CURVE_STEPS_MAX];
    const double limits[] = {1 * MIB, 2 * MIB, 4 * MIB}, ns[] = {5, 12, 30, 80};
    draw(&curve, limits, 3, ns);
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 1);
    assert_true(steps[0].size_bytes >= MIB && steps[0].size_bytes <= 1.5 * MIB);
}

TEST(curve_flat_has_no_steps)
{
    struct curve curve;
    struct curve_step steps[CURVE_STEPS_MAX];
    draw(&curve, NULL, 0, (const double[]){7});
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 0);
    for (uint64_t seed = 0; seed < 200; seed++) {
        draw(&curve, NULL, 0, (const double[]){7});
        shake(&curve, 0.2, seed);
        assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 0);
    }
}

TEST(curve_small_rises_and_outliers_are_no_steps)
{
    struct curve curve;
    struct curve_step steps[CURVE_STEPS_MAX];
    draw(&curve, caches, 1, (const double[]){10, 14.9});
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 0);
    draw(&curve, caches, 1, (const double[]){10, 15.1});
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 1);
    draw(&curve, NULL, 0, (const double[]){10});
    curve.points[12].latency_ns = 30;
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 0);
    /* Latency only rises with size; a fall is noise. */
    draw(&curve, caches, 3, (const double[]){80, 20, 4, 1});
    assert_int_equal(curve_find_steps(curve.points, curve.n, steps), 0);
}

TEST(curve_of_few_points)
{
    struct curve_step steps[CURVE_STEPS_MAX];
    const struct curve_point points[] = {{4096, 1}, {8192, 100}};
    assert_int_equal(curve_find_steps(points, 0, steps), 0);
    assert_int_equal(curve_find_steps(points, 1, steps), 0);
    assert_int_equal(curve_find_steps(points, 2, steps), 0); /* no plateau before the rise */
}

/* More steps than fit, at the largest number of points: the first ones are kept. */
TEST(curve_steps_do_not_overflow)
{
    struct curve_point points[CURVE_POINTS_MAX];
    struct curve_step steps[CURVE_STEPS_MAX + 1];
    for (size_t i = 0; i < CURVE_POINTS_MAX; i++)
        points[i] = (struct curve_point){4096 * exp2((double)i / 4), exp2(floor((double)i / 8))};
    steps[CURVE_STEPS_MAX].size_bytes = -1;
    assert_int_equal(curve_find_steps(points, CURVE_POINTS_MAX, steps), CURVE_STEPS_MAX);
    assert_true(steps[CURVE_STEPS_MAX].size_bytes == -1);
}

TEST(curve_knee_lies_between_two_loads)
{
    const double load[] = {0, 10, 20, 30}, ns[] = {100, 110, 130, 290};
    assert_true(fabs(curve_find_knee(load, ns, 4, 150) - 21.25) < 1e-12);
    assert_true(fabs(curve_find_knee(load, ns, 4, 110) - 10) < 1e-12);
    assert_true(isnan(curve_find_knee(load, ns, 4, 290)));
    assert_true(isnan(curve_find_knee(load, ns, 4, 99))); /* never below that latency */
    assert_true(isnan(curve_find_knee(load, ns, 1, 50)));
    const double twice[] = {100, 200, 120, 400};
    assert_true(fabs(curve_find_knee(load, twice, 4, 150) - 5) < 1e-12);
}
