/* harness/show/figures/lines.c: which lines a figure keeps, and the places of its ticks and
 * crosses. */
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_out.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

/* The text below the column names of a block. */
static const char *find_block(const char *data, const char *name)
{
    char line[40];
    put_text(line, "\n\n# %s\n", name);
    const char *block = strstr(data, line);
    assert_non_null(block);
    block += strlen(line);
    return block + strcspn(block, "\n") + 1;
}

static char *read_data(const char *figure)
{
    size_t size;
    char *data = (char *)fixture_read_plot(figure, "dat", &size);
    assert_non_null(data);
    return data;
}

/* Reads the next two numbers at *at and moves *at behind their line; false at the end of the
 * block. */
static bool next_pair(const char **at, double *x, double *y)
{
    while (**at && **at != '\n') {
        int found = sscanf(*at, "%lf %lf", x, y);
        *at += strcspn(*at, "\n") + 1;
        if (found == 2 && !isnan(*x))
            return true;
    }
    return false;
}

/* Vertical distance of a point from the nearest segment of the line; infinite if no segment is
 * below it. */
static double distance(const char *line, double x, double y)
{
    double from[2], to[2], least = INFINITY;
    if (!next_pair(&line, &from[0], &from[1]))
        return least;
    while (next_pair(&line, &to[0], &to[1])) {
        double share = (x - from[0]) / (to[0] - from[0]);
        if (share >= 0 && share <= 1)
            least = fmin(least, fabs(from[1] + share * (to[1] - from[1]) - y));
        memcpy(from, to, sizeof(from));
    }
    return least;
}

/* The knee is a median of its own, so 1.5 times the idle latency need not lie on the curve. */
TEST_WITHIN(line_chart_puts_the_knee_on_its_curve, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    fixture_draw_scans(&fixture_vm, "loaded_latency");
    fixture_assert_svg_has("loaded_latency", ">knee 190 GB/s<");
    fixture_assert_svg_has("loaded_latency", ">knee 152 GB/s<");
    FREED char *data = read_data("loaded_latency");
    const char *crosses = find_block(data, "crosses");
    double x = 0, y = 0;
    for (unsigned line = 0; line < 2; line++) {
        assert_true(next_pair(&crosses, &x, &y));
        assert_true(distance(find_block(data, line ? "line_1" : "line_0"), x, y) < 1e-4);
    }
    assert_false(next_pair(&crosses, &x, &y));
}

/* Ticks say neither 1e-06 for small GB/s, nor 1000 us. */
TEST_WITHIN(line_chart_says_units_at_its_ticks, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    fixture_draw_scans(&fixture_vm, "collective");
    fixture_assert_svg_has("collective_bandwidth", ">1 MB/s<");
    fixture_assert_svg_has("collective_bandwidth", ">100 GB/s<");
    fixture_assert_svg_has("collective_latency", ">20 us<");
    fixture_assert_svg_has("collective_latency", ">1 ms<");
}

/* The number of lines in a block that start with a number. */
static size_t count_lines(const char *block)
{
    size_t n = 0;
    for (; *block && *block != '\n'; block += strcspn(block, "\n") + 1)
        n += *block >= '0' && *block <= '9';
    return n;
}

/* Like the scenario allreduce, where once six lines were drawn and none of the fixed second
 * part. */
TEST_WITHIN(line_chart_shows_every_placement, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    static const enum placement placements[] = {PLACE_NONE, PLACE_SIZED, PLACE_PASSIVE,
                                                PLACE_PARTITION, PLACE_GPU_LOCAL};
    static const char *const names[] = {"none",      "sized",     "passive",
                                        "partition", "gpu-local", "without load"};
    struct fixture_scan_machine machine = fixture_vm;
    machine.placements = placements;
    machine.nplacements = 5;
    fixture_draw_scans(&machine, "collective");
    fixture_assert_svg_has("collective_latency", ">queue 1<");
    fixture_assert_svg_has("collective_latency", ">queue 20<");
    for (size_t i = 0; i < 6; i++) {
        char text[64];
        put_text(text, ">all-reduce, out of place, %s<", names[i]);
        fixture_assert_svg_has("collective_latency", text);
    }
    FREED char *data = read_data("collective_latency");
    assert_int_equal(count_lines(find_block(data, "lines")), 2 * 2 * 6);
    assert_lacks(data, "more lines are in rows.csv");
}

/* If there are too many lines, the first lines of each placement stay. */
TEST_WITHIN(line_chart_drops_no_placement_for_another, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    enum placement placements[PLACEMENTS];
    struct fixture_scan_machine machine = fixture_vm;
    for (int i = 0; i < PLACEMENTS; i++)
        placements[i] = (enum placement)i;
    machine.placements = placements;
    machine.nplacements = PLACEMENTS;
    fixture_draw_scans(&machine, "collective");
    for (int i = 0; i < PLACEMENTS; i++) {
        char text[64];
        put_text(text, ">all-reduce, out of place, %s<", placement_infos[i].name);
        fixture_assert_svg_has("collective_bandwidth", text);
    }
    fixture_assert_svg_has("collective_bandwidth", ">all-reduce, out of place, without load<");
    fixture_assert_svg_has("collective_bandwidth", ">28 more lines are in rows.csv<");
}

NEEDS_GNUPLOT
