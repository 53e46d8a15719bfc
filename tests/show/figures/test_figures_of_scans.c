/* harness/show/figures/figures.c: the figures of scans, from made-up values of a VM and of a server
 * with four nodes. */
#include "bench/registry.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_out.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

static void assert_absent(const char *figure)
{
    static const char *const suffixes[] = {"svg", "png", "dat"};
    size_t size;
    for (size_t i = 0; i < 3; i++)
        if (fixture_read_plot(figure, suffixes[i], &size))
            fail_msg("there is a %s.%s", figure, suffixes[i]);
}

TEST_IN_DIR(scans_all_figures_have_units_on_their_axes)
{
    static const struct {
        const char *figure;
        unsigned width;
        const char *texts[4];
    } want[] = {
        {"latency_curve",
         1500,
         {"working set (bytes, log scale)", "latency of a load (ns, log scale)"}},
        {"loaded_latency",
         1500,
         {"bandwidth that the other CPUs use (GB/s)", "latency of a load (ns)"}},
        {"bandwidth",
         1500,
         {"bandwidth (GB/s)", ">triad<", ">1 thread, plain<", ">8 threads, nt<"}},
        {"core_to_core", 1350, {"round trip (ns)", "CPU (number)"}},
        {"smt_pairs", 1350, {"slowdown (ratio)", "CPU (number)"}},
        {"numa_bandwidth",
         1350,
         {"bandwidth (GB/s)", "memory of node (number)", "CPUs of node (number)"}},
        {"numa_latency", 1350, {"latency of a load (ns)", "memory of node (number)"}},
        {"cache_thrash",
         1800,
         {"aggressors (number)", ">victim in the L3, aggressors walk at random<", ">SMT sibling<",
          ">other NUMA node<"}},
        {"cache_refill", 1500, {"time of a refill (us a switch)", ">l3<", ">2900<"}},
        {"collective_bandwidth",
         1500,
         {"bus bandwidth (log scale)", "size (bytes, log scale)", ">all-reduce, in place<",
          ">128 MiB<"}},
        {"collective_latency",
         1500,
         {"time of an operation (log scale)", ">all-reduce, out of place<",
          ">test machine. Over NCCL. "}},
    };
    fixture_draw_scans(&fixture_server, NULL);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        fixture_assert_drawn(want[i].figure, want[i].width);
        for (size_t k = 0; k < 4 && want[i].texts[k]; k++)
            fixture_assert_svg_has(want[i].figure, want[i].texts[k]);
        fixture_assert_svg_has(want[i].figure, ">memory: ");
        fixture_assert_svg_has(want[i].figure, ">test machine. ");
    }
    for (int i = 0; i < 5; i++)
        assert_absent(
            (const char *[]){"throughput", "efficiency", "step_time", "loss", "occupancy"}[i]);
}

TEST_WITHIN(scans_only_what_was_measured_is_drawn, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    fixture_draw_scans(&fixture_server, NULL);
    fixture_draw_scans(&fixture_server, "mem_bandwidth numa_matrix");
    fixture_assert_drawn("bandwidth", 1500);
    fixture_assert_svg_has("bandwidth", ">none<"); /* no array exceeds the caches */
    fixture_assert_drawn("numa_latency", 1350);
    assert_absent("latency_curve");
    assert_absent("core_to_core");
    fixture_draw_scans(&fixture_vm, "numa_matrix"); /* skipped on one node */
    assert_absent("numa_latency");
    assert_absent("bandwidth");
}

TEST_WITHIN(scans_latency_curve_marks_caches, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    static const char *const texts[] = {">base pages<",
                                        ">transparent huge pages<",
                                        ">huge pages of the pool<",
                                        ">measured 32.6 MiB<",
                                        ">reported L1 48 KiB<",
                                        ">reported L3 300 MiB<",
                                        ">64 KiB<",
                                        ">1 GiB<"};
    fixture_draw_scans(&fixture_vm, "mem_latency");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        fixture_assert_svg_has("latency_curve", texts[i]);
}

/* The number of cells with that text in a .dat file's matrix. */
static size_t count_cells(const char *figure, const char *cell)
{
    size_t size, n = 0;
    FREED char *data = (char *)fixture_read_plot(figure, "dat", &size);
    assert_non_null(data);
    char *matrix = strstr(data, "# matrix\n"), *save = NULL;
    assert_non_null(matrix);
    for (char *at = strtok_r(matrix, " \n", &save); at; at = strtok_r(NULL, " \n", &save))
        n += strcmp(at, cell) == 0;
    return n;
}

TEST_WITHIN(scans_heat_map_prints_what_has_room, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    fixture_draw_scans(&fixture_server, "numa_matrix core_to_core");
    fixture_assert_svg_has("numa_bandwidth", ">96.3<");
    fixture_assert_svg_has("numa_latency", ">201<");
    /* Eight CPUs, 128 lines: each cell of the diagonal is 16 by 16 cells of the picture. */
    assert_int_equal(count_cells("core_to_core", "NaN"), 8 * 16 * 16);
    fixture_draw_scans(&fixture_vm, "core_to_core");
    assert_int_equal(count_cells("core_to_core", "NaN"), 64 * 2 * 2);
    size_t size;
    FREED char *svg = (char *)fixture_read_plot("core_to_core", "svg", &size);
    assert_lacks(svg, ">1900<");
}

/* One pair of 2016 took 1900 ns: the other pairs must still differ in colour. */
TEST_WITHIN(scans_heat_map_is_not_spoilt_by_one_pair, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    fixture_draw_scans(&fixture_vm, "core_to_core");
    fixture_assert_svg_has("core_to_core", "most 1900<");
    fixture_assert_svg_has("core_to_core", "in the colour of its end: 1 of 2016 values<");
    size_t size;
    FREED char *data = (char *)fixture_read_plot("core_to_core", "dat", &size);
    unsigned lines;
    double low, high;
    const char *numbers = strstr(data, "values\" ");
    assert_non_null(numbers);
    assert_int_equal(sscanf(numbers, "values\" %u %lf %lf", &lines, &low, &high), 3);
    assert_int_equal(lines, 64);
    assert_true(low > 20 && low < 24);
    assert_true(high > 84 && high < 100);
}

/* The number of values printed in the cells of a figure; a line has column, line, value. */
static unsigned count_numbers(const char *figure)
{
    size_t size;
    unsigned n = 0, x, y;
    double value;
    FREED char *data = (char *)fixture_read_plot(figure, "dat", &size);
    char *save = NULL;
    assert_non_null(data);
    for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        n += sscanf(line, "%u %u %lf \"", &x, &y, &value) == 3 && value > 0;
    return n;
}

TEST_IN_DIR(scans_copies_of_four_gpus)
{
    static const char *const host_texts[] = {">0 h2d<",         ">0 d2h<",
                                             ">1 h2d<",         ">1 d2h<",
                                             ">GPU (number)<",  ">node (number), direction<",
                                             "bandwidth (GB/s)"};
    fixture_draw_scans(&fixture_gpus, "gpu_copy");
    fixture_assert_drawn("gpu_copy", 1350);
    fixture_assert_drawn("host_copy", 1350);
    fixture_assert_svg_has("gpu_copy", ">from GPU (number)<");
    fixture_assert_svg_has("gpu_copy", ">to GPU (number)<");
    for (size_t i = 0; i < sizeof(host_texts) / sizeof(host_texts[0]); i++)
        fixture_assert_svg_has("host_copy", host_texts[i]);
    /* Only reads by copy engine; and only pinned memory, by copy engine, alone. */
    assert_int_equal(count_numbers("gpu_copy"), 4 * 3);
    assert_int_equal(count_numbers("host_copy"), 4 * 2 * 2);
    assert_int_equal(count_cells("gpu_copy", "NaN"), 4 * 32 * 32);
    assert_int_equal(count_cells("host_copy", "NaN"), 0);
}

/* Unequal numbers of rows and columns: many GPUs and few nodes, one GPU and many nodes. */
TEST_WITHIN(scans_copies_of_other_machines, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    static const struct {
        unsigned gpus, nodes;
    } machines[] = {{1, 8}, {16, 2}};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        struct fixture_scan_machine machine = fixture_gpus;
        machine.gpus = machines[i].gpus;
        machine.nodes = machines[i].nodes;
        fixture_draw_scans(&machine, "gpu_copy");
        fixture_assert_drawn("host_copy", 1350);
        assert_int_equal(count_cells("host_copy", "NaN"), 0);
        if (machine.gpus == 1)
            assert_absent("gpu_copy");
        else
            fixture_assert_drawn("gpu_copy", 1350);
    }
}

/* All figures are files in one folder. */
TEST(names_of_figures_are_fit_and_unique)
{
    const char *names[100] = {"occupancy", "step_time", "throughput", "efficiency", "loss"};
    size_t n = 5;
    for (const struct bench *const *bench = bench_registry; *bench; bench++)
        for (const struct bench_figure *figure = (*bench)->figures; figure && figure->name;
             figure++) {
            assert_in_range(strspn(figure->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), 1,
                            FIGURE_NAME_MAX - 1);
            assert_int_equal(strspn(figure->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                             strlen(figure->name));
            for (size_t i = 0; i < n; i++)
                assert_string_not_equal(names[i], figure->name);
            assert_true(n < sizeof(names) / sizeof(names[0]));
            names[n++] = figure->name;
        }
    assert_in_range(n, 6, 99);
}

TEST_WITHIN(scans_smt_noise_stays_dark, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    struct fixture_scan_machine machine = fixture_vm;
    machine.siblings = 0;
    fixture_draw_scans(&machine, "smt_pairs");
    size_t size;
    FREED char *data = (char *)fixture_read_plot("smt_pairs", "dat", &size);
    assert_has(data, "\" \"\" 64 1 1.5 ");
}

TEST_IN_DIR(scans_256_cpus)
{
    struct fixture_scan_machine machine = fixture_vm;
    machine.cpus = 256;
    machine.siblings = 128;
    machine.rounds = 1;
    fixture_draw_scans(&machine, "core_to_core smt_pairs");
    fixture_assert_drawn("core_to_core", 1350);
    assert_int_equal(count_cells("smt_pairs", "NaN"), 256);
}

/* If several placements have the same values, the figure of one names it. */
TEST_WITHIN(scans_one_of_several_is_named, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_server, "mem_bandwidth numa_matrix", &result);
    result.arms[1].bench = result.arms[0].bench;
    result.arms[1].placement = PLACE_PARTITION;
    fixture_draw(&result, "host");
    fixture_assert_svg_has("bandwidth", ">Placement none only. Others are in rows.csv<");
}

/* The value ">11.8<" at the first bar of a figure. */
static const char *find_first_value(const char *figure, char text[static 32])
{
    size_t size;
    FREED char *data = (char *)fixture_read_plot(figure, "dat", &size);
    assert_non_null(data);
    const char *bar = strstr(data, "\n0 0 ");
    assert_non_null(bar);
    assert_int_equal(sscanf(bar, " %*s %*s %*s %*s %*s \"%20[^\"]", text + 1), 1);
    text[0] = '>';
    return strcat(text, "<");
}

/* A single round has no intervals, but each bar has its value. */
TEST_WITHIN(scans_one_round_has_no_intervals, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    char text[32];
    struct fixture_scan_machine machine = fixture_server;
    machine.rounds = 1;
    machine.cpus = 2;
    fixture_draw_scans(&machine, NULL);
    fixture_assert_svg_has("latency_curve", "One round, so no intervals");
    fixture_assert_drawn("bandwidth", 1500);
    fixture_assert_svg_has("bandwidth", find_first_value("bandwidth", text));
    fixture_assert_drawn("smt_pairs", 1350);
    fixture_assert_drawn("cache_thrash", 1800);
}

TEST_WITHIN(scans_say_when_they_are_noisy, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_server, "mem_bandwidth", &result);
    result.arms[0].observations[1].status = STATUS_NOISY;
    strcpy(result.arms[0].observations[1].reason, "steal 12%");
    fixture_draw(&result, "host");
    fixture_assert_svg_has("bandwidth", ">noisy: 1 of 3 rounds: steal 12%<");
}

TEST_WITHIN(scans_hostile_text_is_only_text, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_vm, "mem_latency cache_thrash", &result);
    struct observation *first = &result.arms[0].observations[0];
    first->workers[0].values[1].dims =
        dims_parse(result.arms[0].bench, "size=8192;pages='.system(\"touch pwned\").'");
    first->workers[0].values[3].dims =
        dims_parse(result.arms[0].bench, "size=8192;pages=`touch pwned`");
    fixture_draw(&result, "x\"; system(\"touch pwned\") '`touch pwned`' \\\"\n\n\n@a %s \xff");
    assert_int_equal(faccessat(fixture_dir_fd, "plots/pwned", F_OK, 0), -1);
    fixture_assert_svg_has("latency_curve", "pages _.system(_touch pwned_)._<");
    fixture_assert_svg_has("latency_curve", "x_; system(_touch pwned_) __touch pwned__");
}

NEEDS_GNUPLOT
