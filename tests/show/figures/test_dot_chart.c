/* harness/show/figures/bar_chart.c: what each GPU of a machine reached, from made-up values. */
#include "harness/show/figures/dots.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_out.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

static const char all_scans[] = "gpu_stream gpu_matmul gpu_launch";

/* Counts of the blocks "dots_PANEL", which have a dot a line: y, x, interval, colour, mark. */
struct seen {
    unsigned dots, diamonds, colours, panels;
    double highest, lowest; /* rates of the GPUs in the first panel */
};

static struct seen look(const char *figure)
{
    struct seen seen = {.lowest = INFINITY};
    size_t size;
    unsigned panel = 0;
    char *data = (char *)fixture_read_plot(figure, "dat", &size), *save = NULL;
    assert_non_null(data);
    for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        unsigned colour, mark;
        double y, x, low, high;
        int end = 0;
        (void)sscanf(line, "# dots_%u", &panel);
        if (sscanf(line, "%lf %lf %lf %lf %u %u%n", &y, &x, &low, &high, &colour, &mark, &end) !=
                6 ||
            line[end])
            continue;
        seen.dots++;
        seen.diamonds += mark == DOT_DIAMOND;
        seen.colours = colour + 1 > seen.colours ? colour + 1 : seen.colours;
        seen.panels = panel + 1 > seen.panels ? panel + 1 : seen.panels;
        seen.highest = panel ? seen.highest : fmax(seen.highest, x);
        seen.lowest = panel ? seen.lowest : fmin(seen.lowest, x);
    }
    free(data);
    return seen;
}

TEST_WITHIN(dots_of_each_gpu, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    static const unsigned gpus[] = {1, 16};
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        struct fixture_scan_machine machine = fixture_gpus;
        unsigned n = gpus[i], withs = n > 1 ? 2 : 1;
        char last[20];
        put_text(last, ">GPU %u<", n - 1);
        machine.gpus = n;
        fixture_draw_scans(&machine, all_scans);
        struct seen stream = look("gpu_stream"), matmul = look("gpu_matmul"),
                    launch = look("gpu_launch");
        assert_int_equal(stream.dots, 7 * n * withs);
        assert_int_equal(matmul.dots, (7 + 4 * 7 + 7 * 4) * n * withs);
        assert_int_equal(launch.dots, (2 * 2 * 6 + 3) * n);
        assert_int_equal(stream.colours, n);
        assert_int_equal(stream.diamonds, 7 * n * (withs - 1));
        assert_int_equal(matmul.panels, 7);
        assert_int_equal(launch.panels, 3);
        assert_true(stream.highest < 4350);
        assert_true(n == 1 ? stream.lowest > 4150 : stream.lowest < 3900);
        fixture_assert_svg_has("gpu_stream", last);
        fixture_assert_svg_has("gpu_matmul", last);
        fixture_assert_svg_has("gpu_launch", last);
    }
}

TEST_WITHIN(dots_say_what_they_are, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    static const struct {
        const char *figure;
        const char *texts[6];
    } want[] = {
        {"gpu_stream",
         {">memory: bandwidth of the memory of each GPU<", ">bandwidth (GB/s)<", ">copy, driver<",
          ">triad, kernel<", ">GB/s all at once<", ">GB/s alone<"}},
        {"gpu_matmul",
         {">rate (TFLOP/s)<", ">power (W)<", ">temperature (degC)<", ">clock of the SMs (MHz)<",
          ">sync_boost<", ">fp8<"}},
        {"gpu_launch",
         {">median (us, log scale)<", ">99th percentile (us, log scale)<", ">sync, yield<",
          ">CPU time of the thread that waits (share)<", ">busy CPUs<", ">1000<"}},
    };
    fixture_draw_scans(&fixture_gpus, all_scans);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        for (size_t k = 0; k < 6; k++)
            fixture_assert_svg_has(want[i].figure, want[i].texts[k]);
}

/* A GPU that failed emits only the reason. */
TEST_WITHIN(dots_name_a_gpu_that_failed, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_gpus, "gpu_stream", &result);
    const struct bench *bench = result.arms[0].bench;
    unsigned by_gpu = dim_find(bench, "gpu");
    for (size_t o = 0; o < result.arms[0].nobservations; o++) {
        struct worker_result *worker = &result.arms[0].observations[o].workers[0];
        size_t kept = 0;
        for (size_t i = 0; i < worker->nvalues; i++)
            if (dims_ordinal(bench, &worker->values[i].dims, by_gpu) != 2)
                worker->values[kept++] = worker->values[i];
        worker->nvalues = kept + 1;
        worker->values[kept] =
            (struct value){.value = NAN, .metric = 0, .reason = 1, .dims = DIMS({by_gpu, 2})};
        worker->reasons = calloc(1, sizeof(*worker->reasons));
        assert_non_null(worker->reasons);
        worker->nreasons = 1;
        (void)err_set(worker->reasons, -EIO, "it fell off the bus");
    }
    fixture_draw(&result, "host");
    fixture_assert_svg_has("gpu_stream", "GPU 2: failed: it fell off the bus");
    assert_int_equal(look("gpu_stream").dots, 7 * 3 * 2);
}

/* Some types lack the first metric. */
TEST_WITHIN(dots_need_no_metric_of_all, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(&fixture_gpus, "gpu_matmul", &result);
    const struct bench *bench = result.arms[0].bench;
    unsigned by_type = dim_find(bench, "type");
    for (size_t o = 0; o < result.arms[0].nobservations; o++) {
        struct worker_result *worker = &result.arms[0].observations[o].workers[0];
        size_t kept = 0;
        for (size_t i = 0; i < worker->nvalues; i++)
            if (!strcmp(dims_value(bench, &worker->values[i].dims, by_type), "int8"))
                worker->values[kept++] = worker->values[i];
        worker->nvalues = kept;
    }
    fixture_draw(&result, "host");
    assert_int_equal(look("gpu_matmul").dots, (1 + 4 + 4) * 4 * 2);
    assert_int_equal(look("gpu_matmul").panels, 6);
    fixture_assert_svg_has("gpu_matmul", ">rate of whole numbers (TOP/s)<");
}

TEST(dots_format_has_no_exponent)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},         {0.0000058, "0.0000058"}, {0.00595, "0.0060"},
                 {0.05, "0.050"},  {0.75, "0.75"},           {1, "1.00"},
                 {9.96, "10.0"},   {54.25, "54.2"},          {99.6, "100"},
                 {4270.3, "4270"}, {3.2e7, "32000000"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(dots_format(cases[i].value), cases[i].text);
    }
}

NEEDS_GNUPLOT
