/* harness/show/figures/figures.c: the figures of a made-up run; the machine's name never becomes a
 * command. */
#include <fcntl.h>

#include "harness/lib/stats.h"
#include "harness/show/figures/dots.h"
#include "harness/show/figures/figures.h"
#include "harness/show/figures/gnuplot.h"
#include "harness/verdict/recommend.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_out.h"
#include "tests/lib/fixture_plots.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static const char *const figures[] = {"throughput", "efficiency", "step_time", "loss", "occupancy"};
enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static const enum placement placements[] = {PLACE_NONE, PLACE_SIZED, PLACE_SAME, PLACE_PARTITION,
                                            PLACE_PCORES};
enum { PLACEMENTS_USED = sizeof(placements) / sizeof(placements[0]) };

static const struct fixture_machine small = {
    .cpus = 4,
    .workers = {2},
    .rounds = 3,
    .placements = placements,
    .nplacements = PLACEMENTS_USED,
    .alone_s = 0.02,
    .collapse = 30,
    .device = DEVICE_SIM,
    .skip_reason = "this machine has one kind of core",
};

static int plot_result(const struct result *result, const char *host, bool pictures,
                       struct err *err)
{
    AUTO(analysis) analysis;
    assert_int_equal(analysis_make(result, &analysis, err), 0);
    figures_remove(fixture_dir_fd); /* as a run does if an earlier run left figures */
    int rc = figures_draw(&analysis, host, pictures, fixture_dir_fd, NULL, err);
    return rc;
}

static int plot(const struct fixture_machine *machine, const char *host, struct err *err)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(machine, &result);
    int rc = plot_result(&result, host, true, err);
    return rc;
}

static void plot_ok(const struct fixture_machine *machine, const char *host)
{
    struct err err = {0};
    int rc = plot(machine, host, &err);
    if (rc)
        fail_msg("figures_draw: %s", err.msg);
}

/* Writes the data without the pictures, which take long and show the same. */
static void write_data(const struct fixture_machine *machine)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(machine, &result);
    assert_int_equal(plot_result(&result, "host", false, NULL), 0);
}

static void assert_data_has(const char *figure, const char *text)
{
    size_t size;
    FREED char *data = (char *)fixture_read_plot(figure, "dat", &size);
    assert_non_null(data);
    assert_has(data, text);
}

TEST_IN_DIR(report_says_what_was_measured)
{
    static const char *const measured[] = {"none", "sized", "same", "partition"};
    plot_ok(&small, "2-CPU test machine");
    for (size_t i = 0; i < FIGURES; i++) {
        fixture_assert_drawn(figures[i], strcmp(figures[i], "occupancy") ? 1500 : 1800);
        for (size_t k = 0; k < 4; k++) {
            char label[32]; /* in the occupancy map the lost share follows */
            put_text(label, ">%s%s", measured[k], strcmp(figures[i], "occupancy") ? "<" : "");
            fixture_assert_svg_has(figures[i], label);
        }
        fixture_assert_svg_has(figures[i], "pipeline: ");
        fixture_assert_svg_has(figures[i], ", sim<");
        fixture_assert_svg_has(figures[i], "2-CPU test machine. 2 workers. ");
        fixture_assert_svg_has(figures[i], ">not on this machine: pcores<");
    }
    fixture_assert_svg_has("loss", "waiting in the run queue");
    fixture_assert_svg_has("loss", "solo 1/2");
}

/* With up to five rounds an interval is their range, and stolen time is part of blocked time. */
TEST_IN_DIR(report_says_what_intervals_and_blocked_are)
{
    struct fixture_machine machine = small;
    machine.rounds = STATS_RANGE_BELOW - 1;
    write_data(&machine);
    assert_data_has("efficiency", "Median and range of 5 rounds");
    assert_data_has("loss",
                    "A bar is the median step of all workers. Lost: 1 - parallel efficiency");
    machine.rounds = STATS_RANGE_BELOW;
    machine.steal = 0.04;
    write_data(&machine);
    assert_data_has("efficiency", "Median and 95% interval over 6 rounds");
    assert_data_has("loss", "Blocked holds stolen time: up to ");
}

/* Every round of every placement, and the median of the table. */
TEST_IN_DIR(report_shows_the_rounds_behind_the_headline)
{
    ENDED_BY(fixture_plots_free) struct result result;
    AUTO(analysis) analysis;
    size_t size;
    unsigned rounds = 0, medians = 0, recommended = 0;
    fixture_plots_make(&small, &result);
    assert_int_equal(plot_result(&result, "host", false, NULL), 0);
    assert_int_equal(analysis_make(&result, &analysis, NULL), 0);
    const struct arm *of = result.arms;
    while (of->is_baseline)
        of++;
    const struct recommendation made = recommend_make(&analysis, of);
    assert_true(recommend_applies(&made));
    char *data = (char *)fixture_read_plot("throughput", "dat", &size), *save = NULL;
    assert_non_null(data);
    for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        double y, x, low, high;
        unsigned colour, mark;
        if (sscanf(line, "%lf %lf %lf %lf %u %u", &y, &x, &low, &high, &colour, &mark) != 6)
            continue;
        rounds += mark == DOT_ROUND;
        medians += mark == DOT_MEDIAN;
        if (mark != DOT_MEDIAN || !colour)
            continue;
        recommended++;
        assert_true(x > 5 && fabs(x - made.gain.ratio) < 1e-6 * x);
        assert_true(low <= x && x <= high && fabs(low - made.gain.low) < 1e-6 * x);
    }
    assert_int_equal(rounds, 4 * 3);
    assert_int_equal(medians, 4);
    assert_int_equal(recommended, 1);
    char title[80];
    put_text(title, "pipeline: %s is ", arm_name(&result.arms[made.arm]));
    assert_data_has("throughput", title);
    assert_data_has("throughput", ", recommended");
    assert_data_has("throughput", "1x");
    assert_data_has("throughput", "items/s");
    free(data);
}

/* The share that `none` loses, as that figure says it. */
static void read_lost(const char *figure, char lost[static 8])
{
    size_t size;
    FREED char *data = (char *)fixture_read_plot(figure, "dat", &size);
    char *end = NULL;
    assert_non_null(data);
    const char *at = strstr(data, "\"none");
    assert_non_null(at);
    assert_non_null(end = strstr(at, "% lost"));
    *end = '\0';
    (void)snprintf(lost, 8, "%s", strrchr(at, ' '));
}

TEST_IN_DIR(report_says_one_loss_in_all_figures)
{
    char loss[8], occupancy[8];
    write_data(&small);
    read_lost("loss", loss);
    read_lost("occupancy", occupancy);
    assert_string_equal(loss, occupancy);
    assert_data_has("occupancy", "Lost: 1 - parallel efficiency");
}

/* Two threads on one CPU wait for each other, also where both are of one worker. */
TEST_IN_DIR(report_occupancy_counts_threads)
{
    static const char map[] = "# map\n";
    ENDED_BY(fixture_plots_free) struct result result;
    size_t size, crowded = 0;
    fixture_plots_make(&small, &result);
    for (size_t i = 0; i < result.narms; i++) {
        const struct arm *arm = &result.arms[i];
        struct worker_result *worker = arm->nobservations ? arm->observations[0].workers : NULL;
        for (size_t s = 0; arm->placement == PLACE_PARTITION && s < worker->ncpu_samples; s++)
            worker->cpu_samples[s].os_cpu = 0;
    }
    assert_int_equal(plot_result(&result, "host", false, NULL), 0);
    FREED char *data = (char *)fixture_read_plot("occupancy", "dat", &size);
    char *at = data;
    for (int panel = 0; panel < 4; panel++) /* partition is the last */
        assert_non_null(at = strstr(at, map)), at += strlen(map);
    for (char *end = strchr(at, '\n'); at < end - 1; crowded += strtoul(at, &at, 10) >= 18)
        ;
    assert_in_range(crowded, 200, 250);
}

/* A run of a command is no step. */
TEST_IN_DIR(report_calls_a_run_a_run)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(&small, &result);
    struct bench command = *result.arms[0].bench;
    command.one_shot = true;
    for (size_t i = 0; i < result.narms; i++)
        result.arms[i].bench = &command;
    assert_int_equal(plot_result(&result, "host", false, NULL), 0);
    assert_data_has("loss", "where the time of a run goes");
    assert_data_has("loss", "A bar is the median run of all workers");
    assert_data_has("step_time", "time of each run");
}

/* The first 0.4 s were imports with few samples. The figure shows the busiest stretch and says
 * so. */
TEST_IN_DIR(report_occupancy_of_a_command_is_its_busiest_stretch)
{
    const uint64_t imports_ns = 100000000;
    ENDED_BY(fixture_plots_free) struct result result;
    size_t size;
    fixture_plots_make(&small, &result);
    struct bench command = *result.arms[0].bench;
    command.runs_command = true;
    for (size_t a = 0; a < result.narms; a++) {
        result.arms[a].bench = &command;
        for (size_t o = 0; o < result.arms[a].nobservations; o++)
            for (unsigned i = 0; i < result.arms[a].observations[o].nworkers; i++) {
                struct worker_result *worker = &result.arms[a].observations[o].workers[i];
                for (size_t v = 0; v < worker->ncpu_samples;
                     v++) { /* 80 times as far apart at first */
                    uint64_t since_ns = worker->cpu_samples[v].at_ns - worker->go_ns;
                    uint64_t slow_ns = since_ns < imports_ns ? since_ns : imports_ns;
                    worker->cpu_samples[v].at_ns =
                        worker->go_ns + 79 * slow_ns + 20 * (since_ns - slow_ns) + since_ns;
                }
            }
    }
    ANALYSED(analysis, &result);
    figures_remove(fixture_dir_fd);
    assert_int_equal(figures_draw(&analysis, "", false, fixture_dir_fd, NULL, NULL), 0);
    FREED char *dat = (char *)fixture_read_plot("occupancy", "dat", &size);
    assert_non_null(dat);
    assert_has(dat, "its busiest stretch");
    const char *from = strstr(dat, " s on\"");
    assert_non_null(from);
    while (strncmp(from, ", from ", 7) != 0)
        from--;
    assert_true(strtod(from + 7, NULL) > 1);
}

TEST_WITHIN(report_admits_what_it_does_not_know, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    struct fixture_machine machine = small;
    machine.no_schedstat = true;
    machine.rounds = 1;
    machine.collapse = 400;
    machine.cut_off = true;
    machine.device = DEVICE_CUDA;
    plot_ok(&machine, "");
    fixture_assert_svg_has("loss", "wait in the run queue and blocked together");
    fixture_assert_svg_has("efficiency", "One round, so no interval");
    fixture_assert_svg_has("efficiency", "at most 0.0");
    fixture_assert_svg_has("step_time", "cut off: took longer");
    fixture_assert_svg_has("throughput", ">more than ");
    fixture_assert_svg_has("step_time", "more than 4.00 s");
}

TEST_IN_DIR(report_names_every_number_of_workers)
{
    struct fixture_machine machine = small;
    machine.workers[0] = 1;
    machine.workers[1] = 2;
    machine.workers[2] = 4;
    write_data(&machine);
    assert_data_has("efficiency", "none, 1 worker");
    assert_data_has("efficiency", "partition, 2 workers");
    assert_data_has("step_time", "same, 4 workers");
    assert_data_has("loss", "solo 1/2");
    assert_data_has("loss", "solo 1/4");
    assert_data_has("occupancy", "4 workers");
}

/* The second part of a scenario has the same benchmark with other parameters. */
TEST_IN_DIR(report_tells_parts_of_a_scenario_apart)
{
    static const int64_t other_params = 4096;
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(&small, &result);
    for (size_t i = 0; i < result.narms; i++)
        if (result.arms[i].placement == PLACE_SIZED || result.arms[i].placement == PLACE_SAME)
            result.arms[i].params = &other_params;
    assert_int_equal(plot_result(&result, "host", false, NULL), 0);
    for (size_t i = 0; i < FIGURES; i++) {
        assert_data_has(figures[i], "none, rows 16384");
        assert_data_has(figures[i], "same, rows 4096");
    }
}

TEST_IN_DIR(report_gives_the_reason_of_a_failed_arm)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(&small, &result);
    struct arm *same = &result.arms[4];
    assert_int_equal(same->placement, PLACE_SAME);
    for (size_t i = 0; i < same->nobservations; i++) {
        same->observations[i].status = STATUS_FAILED;
        strcpy(same->observations[i].reason, "worker 1 was killed by signal 9 at 50%");
    }
    assert_int_equal(plot_result(&result, "host", false, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_data_has(figures[i], "failed: worker 1 was killed by signal 9 at 50%");
}

TEST_IN_DIR(report_without_gnuplot_keeps_the_data)
{
    size_t size;
    char path[4096];
    put_text(path, "%s", getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", "/nonexistent", 1);
    plot_ok(&small, "host");
    setenv("PATH", path, 1);
    assert_null(fixture_read_plot("loss", "svg", &size));
    unsigned char *data = fixture_read_plot("loss", "dat", &size);
    assert_non_null(data);
    free(data);
}

TEST_IN_DIR(report_needs_a_writable_directory)
{
    struct err err = {0};
    int file = openat(fixture_dir_fd, "plots", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    (void)close(file);
    assert_true(plot(&small, "host", &err) < 0);
    assert_has(err.msg, "plots");
}

static void put_data(const char *name, const char *text)
{
    int fd = openat(fixture_dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

TEST_IN_DIR(gnuplot_reports_errors_and_time_outs)
{
    struct gnuplot_job jobs[] = {
        {.name = "broken", .scripts = {"x = 1\n", "plot nonsense(\n"}},
        {.name = "fine", .scripts = {"set print svg_file\n", "print 'yes'\n"}},
        {.name = "endless", .scripts = {"", "pause 60\n"}},
        {.name = "without_data", .scripts = {"", "x = 1\n"}},
    };
    struct err err = {0};
    put_data("broken.dat", "1\n");
    put_data("fine.dat", "1\n");
    put_data("endless.dat", "1\n");
    assert_int_equal(gnuplot_run(fixture_dir_fd, jobs, 2, 60, NULL, &err), -EIO);
    assert_has(err.msg, "broken");
    assert_int_equal(jobs[0].rc, -EIO);
    assert_int_equal(jobs[1].rc, 0);
    assert_int_equal(gnuplot_run(fixture_dir_fd, jobs + 2, 1, 0.7, NULL, &err), -ETIMEDOUT);
    assert_int_equal(jobs[2].rc, -ETIMEDOUT);
    assert_true(gnuplot_run(fixture_dir_fd, jobs + 3, 1, 60, NULL, &err) < 0);
    assert_has(err.msg, "without_data.dat");
    assert_int_equal(faccessat(fixture_dir_fd, "fine.svg", F_OK, 0), 0);
    assert_int_equal(faccessat(fixture_dir_fd, "broken.svg", F_OK, 0), -1);
}

NEEDS_GNUPLOT
