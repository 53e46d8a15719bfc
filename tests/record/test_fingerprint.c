/* Distances of fingerprints, compared with values worked out by hand, and their sentences. */
#include "harness/record/fingerprint.h"

#include "tests/lib/unit.h"

static void put(struct fingerprint *print, const char *part, const char *name, bool is_retention,
                bool less_is_better, double value)
{
    struct fingerprint_value one = {.is_retention = is_retention,
                                    .less_is_better = less_is_better,
                                    .value = value,
                                    .unit = "x"};
    put_text(one.part, "%s", part);
    put_text(one.name, "%s", name);
    fingerprint_add(print, &one);
}

/* A fingerprint with copies of 50 GB/s that retain `kept`, a latency, and a CPU. */
static struct fingerprint make(double integer_ns, double copies, double kept)
{
    struct fingerprint print = {0};
    put(&print, "cpu", "integer", false, true, integer_ns);
    put(&print, "copies", "h2d", false, false, copies);
    put(&print, "copies under memory load", "h2d at bandwidth=0.8", true, false, kept);
    return print;
}

static void compare(const struct fingerprint *a, const struct fingerprint *b,
                    struct fingerprint_distance *distance, const char *sentence)
{
    fingerprint_compare(a, b, distance);
    assert_string_equal(fingerprint_format(distance), sentence);
}

TEST(fingerprint_is_of_its_own_class)
{
    struct fingerprint a = make(0.25, 50, 0.9);
    struct fingerprint_distance distance;
    compare(&a, &a, &distance, "same class (distance 0.0)");
    assert_int_equal(distance.shared, 3);
    assert_int_equal(distance.nparts, 3);
    assert_true(fingerprint_is_same(&distance));
}

/* ln(1.4884) / 0.4 = 0.994 units of a rate of the CPU, the others 0: sqrt(0.994^2 / 3). */
TEST(fingerprint_counts_in_units_of_each_value)
{
    struct fingerprint a = make(0.25, 50, 0.9), b = make(0.3721, 50, 0.9);
    struct fingerprint_distance distance;
    compare(&a, &b, &distance, "same class (distance 0.6)");
    assert_true(fabs(distance.difference[0].units - 0.99425) < 1e-4);
    assert_true(fabs(distance.difference[0].ratio - 0.25 / 0.3721) < 1e-9);
    assert_true(fabs(distance.distance - 0.99425 / sqrt(3)) < 1e-4);
    assert_string_equal(distance.part[0].name, "cpu");
}

/* ln(0.8) / 0.09 = 2.48 units in one of ten values: sqrt(2.48^2 / 10) = 0.78. */
TEST(fingerprint_of_the_same_class_names_the_part_that_differs)
{
    struct fingerprint a = make(0.25, 50, 0.5), b = make(0.25, 50, 0.4);
    struct fingerprint_distance distance;
    for (unsigned i = 0; i < 7; i++) {
        char name[16];
        put_text(name, "value %u", i);
        put(&a, "memory", name, false, false, 10);
        put(&b, "memory", name, false, false, 10);
    }
    compare(&a, &b, &distance,
            "same class (distance 0.8); copies under memory load are 20% worse here");
    assert_true(fabs(distance.part[0].distance - 2.4794) < 1e-3);
    compare(&b, &a, &distance,
            "same class (distance 0.8); copies under memory load are 25% better here");
}

TEST(fingerprint_names_the_worst_part_first)
{
    struct fingerprint a = make(0.25, 50, 0.9), b = make(1, 40, 0.9);
    struct fingerprint_distance distance;
    put(&a, "cpu", "copy", false, false, 20);
    put(&b, "cpu", "copy", false, false, 20);
    compare(&a, &b, &distance,
            "another class (distance 2.8); copies are 20% worse here; the CPU is 75% worse here "
            "(integer)");
    assert_false(fingerprint_is_same(&distance));
}

TEST(fingerprint_does_not_count_what_one_side_lacks)
{
    struct fingerprint a = make(0.25, 50, (double)NAN), b = make(0.25, (double)NAN, 0.9);
    struct fingerprint_distance distance;
    put(&b, "launches", "latency", false, true, 3);
    compare(&a, &b, &distance, "same class (distance 0.0)");
    assert_int_equal(fingerprint_absent(&a), 1);
    assert_int_equal(distance.shared, 1);
    assert_int_equal(distance.n, 4);
    assert_null(distance.difference[1].b); /* only a has copies */
    assert_null(distance.difference[2].a); /* only b has copies under memory load */
    assert_true(isnan(distance.difference[3].units));
}

TEST(fingerprint_without_shared_values_has_no_verdict)
{
    struct fingerprint a = make((double)NAN, (double)NAN, (double)NAN), b = make(0.25, 50, 0.9);
    struct fingerprint_distance distance;
    compare(&a, &b, &distance, "no verdict: the fingerprints share no value");
    assert_false(fingerprint_is_same(&distance));
    /* Values of one name in different units are not compared either. */
    a = make(0.25, 50, 0.9);
    for (size_t i = 0; i < a.n; i++)
        put_text(a.value[i].unit, "y");
    compare(&a, &b, &distance, "no verdict: the fingerprints share no value");
}

TEST(fingerprint_takes_parts_of_a_later_version)
{
    struct fingerprint a = {0}, b = {0};
    struct fingerprint_distance distance;
    put(&a, "disks", "read", false, false, 100);
    put(&b, "disks", "read", false, false, 50);
    compare(&a, &b, &distance, "another class (distance 13.9); disks: 50% worse here");
}

/* The median of 0.9, 0.8, 0.9 is 0.9: the second one is ln(0.8 / 0.9) / 0.09 = 1.31 units from it.
 */
TEST(fingerprint_ranks_machines_by_what_is_usual)
{
    struct fingerprint_machine all[3] = {{.path = "one", .print = make(0.25, 50, 0.9)},
                                         {.path = "two", .print = make(0.25, 50, 0.8)},
                                         {.path = "three", .print = make(0.26, 51, 0.9)}};
    struct fingerprint median;
    put(&all[0].print, "launches", "latency", false, true, 3); /* only one machine has it */
    assert_int_equal(fingerprint_rank(all, 3, &median), 0);
    assert_int_equal(median.n, 3);
    assert_float_equal(median.value[0].value, 0.25, 0);
    assert_float_equal(median.value[2].value, 0.9, 0);
    assert_string_equal(all[0].path, "two");
    assert_string_equal(all[1].path, "three");
    assert_string_equal(all[2].path, "one");
    const struct fingerprint_distance *distance = &all[0].distance;
    const struct fingerprint_difference *worst = &distance->difference[distance->part[0].farthest];
    assert_ptr_equal(worst->b, &all[0].print.value[2]);
    assert_true(fabs(worst->units - 1.3087) < 1e-4);
    assert_true(worst->ratio < 1);
    assert_float_equal(all[2].distance.distance, 0, 0);
}

/* A machine that shares no value with the others comes first. */
TEST(fingerprint_ranks_a_stranger_first)
{
    struct fingerprint_machine all[3] = {{.path = "one", .print = make(0.25, 50, 0.9)},
                                         {.path = "two", .print = make(0.5, 50, 0.9)},
                                         {.path = "stranger"}};
    struct fingerprint median;
    put(&all[2].print, "launches", "latency", false, true, 3);
    assert_int_equal(fingerprint_rank(all, 3, &median), 0);
    assert_string_equal(all[0].path, "stranger");
    assert_int_equal(all[0].distance.shared, 0);
    assert_true(isnan(all[0].distance.distance));
}
