/* harness/validate/fleet.h: results of many machines in memory. */
#include "harness/validate/fleet.h"

#include "tests/lib/fixture_fleet.h"
#include "tests/lib/unit.h"

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

static const struct fleet_figure rate = {.unit = "GB/s", .higher = true, .value = 10};

static uint32_t add_run(struct fleet *fleet, const char *name, const char *identity,
                        const char *kind, uint64_t started)
{
    uint32_t run;
    const struct fleet_origin origin = {name, identity, kind, started};
    assert_int_equal(fleet_add_run(fleet, &origin, &run, NULL), 0);
    return run;
}

TEST(keys_come_apart_again)
{
    const char *columns[FLEET_COLUMNS] = {
        "memory", "none",   "2", "foreground", "mem_latency", "a=1;slots=2;size=64;pages=4k",
        "none",   "latency"};
    char key[FLEET_KEY_MAX];
    size_t length = fleet_key_join(columns, key);
    assert_int_equal(length, strlen(key));
    for (int i = 0; i < FLEET_COLUMNS; i++)
        assert_string_equal(fleet_key_column(key, (enum fleet_column)i), columns[i]);
    assert_string_equal(fleet_key_format(key), "latency of mem_latency, size=64, pages=4k");
    columns[FLEET_PARAMS] = "a=1;slots=2";
    (void)fleet_key_join(columns, key);
    assert_string_equal(fleet_key_format(key), "latency of mem_latency, none, 2 workers");
}

TEST(a_key_that_is_none_is_refused)
{
    char params[FLEET_KEY_MAX], key[FLEET_KEY_MAX];
    memset(params, 'x', sizeof(params) - 1);
    params[sizeof(params) - 1] = '\0';
    const char *columns[FLEET_COLUMNS] = {"a", "b", "c", "d", "e", params, "f", "g"};
    assert_int_equal(fleet_key_join(columns, key), 0);
    columns[FLEET_PARAMS] = "x\037y"; /* the separator of columns */
    assert_int_equal(fleet_key_join(columns, key), 0);
}

/* Runs are not read in the order of time. */
TEST(a_figure_is_the_median_of_its_newest_runs)
{
    AUTO(fleet) fleet = {0};
    fixture_fleet_add(&fleet, "b", 3, 0, 30);
    fixture_fleet_add(&fleet, "a", 1, 0, 5);
    fixture_fleet_add(&fleet, "b", 1, 0, 10);
    fixture_fleet_add(&fleet, "b", 0, 0, 500);
    fixture_fleet_add(&fleet, "b", 2, 0, 90);
    fixture_fleet_add(&fleet, "b", 2, 1, 7);
    assert_int_equal(fleet_arrange(&fleet, NULL), 0);
    assert_int_equal(fleet.ncells, 3);
    const struct fleet_cell *cell = fleet_find(&fleet, 0, 0);
    assert_non_null(cell);
    assert_near(cell->value, 30, 1e-6);
    assert_int_equal(cell->nvalues, 4);
    const double in_time[] = {500, 10, 90, 30};
    for (size_t i = 0; i < 4; i++)
        assert_near((double)fleet.values[cell->first + i].value, in_time[i], 1e-6);
    assert_null(fleet_find(&fleet, 1, 1));
    assert_near(fleet_find(&fleet, 0, 1)->value, 5, 1e-6);
}

TEST(a_figure_twice_in_a_run_is_refused)
{
    AUTO(fleet) fleet = {0};
    uint32_t run = add_run(&fleet, "a", "", "k", 1);
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &rate, NULL), 0);
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &rate, NULL), -EEXIST);
    run = add_run(&fleet, "a", "", "k", 2);
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &rate, NULL), 0);
}

TEST(what_is_no_figure_of_that_name_is_refused)
{
    AUTO(fleet) fleet = {0};
    struct err err = {0};
    struct fleet_figure other = rate;
    uint32_t run = add_run(&fleet, "a", "", "k", 1);
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &rate, &err), 0);
    run = add_run(&fleet, "b", "", "k", 1);
    other.unit = "MB/s";
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &other, &err), -EINVAL);
    assert_string_equal(err.msg, "unit 'MB/s', and 'GB/s' in another result");
    other = rate;
    other.higher = false;
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &other, &err), -EINVAL);
    other = rate;
    other.value = -1e39;
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &other, &err), -EINVAL);
    assert_string_equal(err.msg, "value -1e+39 is too large");
}

/* A refused figure's name has no cells and does not disturb the next figure. */
TEST(a_refused_figure_leaves_no_trace)
{
    AUTO(fleet) fleet = {0};
    struct fleet_figure bad = rate;
    uint32_t run = add_run(&fleet, "a", "", "k", 1);
    assert_int_equal(fleet_add_value(&fleet, run, "x", 1, &rate, NULL), 0);
    bad.unit = "a unit of 32 or more characters.";
    assert_int_equal(fleet_add_value(&fleet, run, "y", 1, &bad, NULL), -EINVAL);
    bad = rate;
    bad.value = 1e39;
    assert_int_equal(fleet_add_value(&fleet, run, "z", 1, &bad, NULL), -EINVAL);
    assert_int_equal(fleet_add_value(&fleet, run, "w", 1, &rate, NULL), 0);
    assert_int_equal(fleet_arrange(&fleet, NULL), 0);
    assert_int_equal(fleet.keys.n, 2);
    assert_int_equal(fleet.first[1], 1);
    assert_int_equal(fleet.first[2], 2);
}

/* Machines of two versions, one of which lacks a parameter, share a figure. Bounds name it as the
 * first machine does. */
TEST(a_parameter_at_its_default_may_be_lacking)
{
    static const struct opt opts[] = {{.name = "step", .kind = OPT_SECONDS, .def = "10ms"},
                                      {.name = NULL}};
    static const struct bench bench = {.name = "scan", .opts = opts};
    static const struct bench *const benches[] = {&bench, NULL};
    static const struct {
        const char *params;
        uint32_t metric;
    } cases[] = {{"size=64;slots=1", 0},
                 {"size=64;step=0.01;slots=1", 0},
                 {"size=64;step=0.02;slots=1", 1},
                 {"size=64;slots=1;step=0.01", 2}}; /* the key of a scan */
    AUTO(fleet) fleet = {.benches = benches};
    char key[FLEET_KEY_MAX], plain[FLEET_KEY_MAX];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[8];
        put_text(name, "m%zu", i);
        const char *columns[FLEET_COLUMNS] = {"scan", "none",          "1",    "foreground",
                                              "scan", cases[i].params, "cuda", "rate"};
        size_t length = fleet_key_join(columns, key);
        uint32_t run = add_run(&fleet, name, "", "k", 1);
        assert_int_equal(fleet_add_value(&fleet, run, key, length, &rate, NULL), 0);
        length = fleet_key_plain(benches, key, plain);
        assert_int_equal(intern_find(&fleet.keys, plain, length), cases[i].metric);
        assert_int_equal(fleet_key_plain(NULL, key, plain), strlen(key));
    }
    assert_int_equal(fleet_arrange(&fleet, NULL), 0);
    assert_int_equal(fleet.keys.n, 3);
    assert_non_null(fleet_find(&fleet, 0, 0));
    assert_non_null(fleet_find(&fleet, 0, 1));
    assert_has(intern_text(&fleet.raw_keys, fleet.metrics[1].raw_key), "step=0.02");
}

/* Two machines with one host name; a run that does not say which of them it is counts as the
 * first. */
TEST(machines_of_one_name_are_told_apart)
{
    AUTO(fleet) fleet = {0};
    (void)add_run(&fleet, "localhost", "11", "k", 1);
    (void)add_run(&fleet, "localhost", "22", "k", 1);
    (void)add_run(&fleet, "localhost", "", "k", 1);
    (void)add_run(&fleet, "localhost", "22", "k", 1);
    assert_int_equal(fleet.names.n, 2);
    assert_string_equal(intern_text(&fleet.names, 1), "localhost (22)");
}

TEST(the_kind_is_that_of_the_newest_run)
{
    AUTO(fleet) fleet = {0};
    (void)add_run(&fleet, "a", "", "8 GPUs", 5);
    (void)add_run(&fleet, "a", "", "7 GPUs", 9);
    (void)add_run(&fleet, "a", "", "6 GPUs", 2);
    (void)add_run(&fleet, "b", "", "8 GPUs", 2);
    (void)add_run(&fleet, "c", "", "8 GPUs", 2);
    assert_string_equal(intern_text(&fleet.kinds, fleet.machines[0].kind), "7 GPUs");
    assert_int_equal(fleet_count_kind(&fleet, intern_find(&fleet.kinds, "8 GPUs", 6)), 2);
}
