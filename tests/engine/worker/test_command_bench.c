/* A user's command as a benchmark, run in this process as in a worker. */
#include "harness/engine/worker/command_bench.h"

#include <math.h>
#include <stdatomic.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/file.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static struct {
    struct bench_ctx ctx;
    struct command_orders orders;
    struct command_report report;
    struct cpu_samples cpu_samples;
    struct err err;
    _Atomic uint32_t stop;
    const struct bench *bench;
} w;

static char *argv[4];

static int begin(const struct command_options *options, const char *script)
{
    memset(&w, 0, sizeof(w));
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = (char *)(uintptr_t)script;
    w.orders = (struct command_orders){
        .command = {.options = *options, .argv = argv}, .report = &w.report, .stop = &w.stop};
    (void)affinity_get(0, &w.orders.cpus);
    w.bench = command_bench_find(command_bench_name(options));
    w.ctx = (struct bench_ctx){
        .cpu_samples = &w.cpu_samples, .err = &w.err, .command = &w.orders, .measuring = true};
    assert_non_null(w.bench);
    return w.bench->setup(&w.ctx);
}

/* One whole step of the command. */
static int step(const struct command_options *options, const char *script, struct sample *sample)
{
    *sample = (struct sample){0};
    int rc = begin(options, script);
    if (!rc)
        rc = w.bench->step(&w.ctx, 1, sample);
    w.bench->teardown(&w.ctx);
    struct tree_process left[1];
    assert_int_equal(tree_list(getpid(), left, 1), 0);
    return rc;
}

static const struct command_options plain = {.grace_s = 5};

TEST_IN_DIR(command_a_run_is_a_step)
{
    struct sample sample;
    assert_int_equal(step(&plain, "true", &sample), 0);
    assert_int_equal(sample.ops, 1);
}

TEST_IN_DIR(command_fails_with_its_status_and_last_line)
{
    struct sample sample;
    assert_int_equal(step(&plain, "echo one; echo two >&2; echo; exit 3", &sample), -ECHILD);
    assert_has(w.err.msg, "exited with status 3; its last line: two");
    assert_int_equal(step(&plain, "kill -9 $$", &sample), -ECHILD);
    assert_has(w.err.msg, "killed by signal 9");
}

TEST_IN_DIR(command_that_goes_into_the_background_is_ended)
{
    unit_skip_emulated("qemu has no PR_SET_CHILD_SUBREAPER");
    struct sample sample;
    assert_int_equal(step(&plain, "sleep 5471 >/dev/null 2>&1 &", &sample), -ECHILD);
    assert_has(w.err.msg, "left 1 process,");
}

TEST_IN_DIR(command_that_is_none_says_why)
{
    struct sample sample = {0};
    assert_int_equal(begin(&plain, ""), 0);
    argv[0] = "/nosuch/program";
    assert_int_equal(w.bench->step(&w.ctx, 1, &sample), -ENOEXEC);
    assert_has(w.err.msg, "cannot execute '/nosuch/program': No such file");
    w.bench->teardown(&w.ctx);
}

TEST_IN_DIR(command_gives_the_last_number_that_matches)
{
    struct sample sample;
    struct command_options options = {.metric = {.text = {"rate ([0-9.]+)"}, .n = 1}, .grace_s = 5};
    assert_int_equal(step(&options, "echo rate 1; echo rate 2.5; printf 'rate 7.5'", &sample), 0);
    assert_true(sample.rate == 7.5);
    options.less_is_better = "";
    assert_int_equal(step(&options, "echo rate 4", &sample), 0);
    assert_true(sample.rate == 0.25);
}

TEST_IN_DIR(command_without_a_number_above_0_fails)
{
    static const struct {
        const char *script;
        int rc;
    } bad[] = {{"true", -ENODATA},          {"echo rate x", -ENODATA},
               {"echo rate: 0", -ERANGE},   {"echo rate: nan", -ERANGE},
               {"echo rate: inf", -ERANGE}, {"echo rate: 1e999", -ERANGE},
               {"echo rate: -3", -ERANGE},  {"echo rate: 5x", -ERANGE}};
    struct sample sample;
    const struct command_options options = {.metric = {.text = {"rate: (.*)"}, .n = 1},
                                            .grace_s = 5};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(step(&options, bad[i].script, &sample), bad[i].rc);
}

/* A unit of time makes it seconds; runs have one, or none. */
TEST_IN_DIR(command_reads_a_unit_of_time)
{
    struct sample sample;
    static const struct {
        const char *script;
        double value;
    } good[] = {{"echo rate: 1.25ms", 1.25e-3}, {"echo rate: 900us", 900e-6},
                {"echo rate: 2.5 s", 2.5},      {"echo rate: 3\u00b5s", 3e-6},
                {"echo rate: 1m30s", 90},       {"echo rate: 70ns", 70e-9}};
    const struct command_options options = {.metric = {.text = {"rate: (.*)"}, .n = 1},
                                            .grace_s = 5};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(step(&options, good[i].script, &sample), 0);
        assert_true(fabs(sample.rate - good[i].value) <= 1e-12 * good[i].value);
    }
    char script[512];
    put_text(script, "echo rate: 5$(cat '%s/unit' 2> /dev/null); echo ms > '%s/unit'", fixture_dir,
             fixture_dir);
    assert_int_equal(begin(&options, script), 0);
    assert_int_equal(w.bench->step(&w.ctx, 1, &sample), 0);
    assert_int_equal(w.bench->step(&w.ctx, 1, &sample), -ERANGE);
    assert_has(w.err.msg, "metric is '5ms', and had no unit of time before");
    w.bench->teardown(&w.ctx);
}

/* A number is read whole, or is refused where the rest of its line is not read. */
TEST_IN_DIR(command_gives_a_long_number)
{
    static const char beyond[] = "longer than 4095 characters";
    struct sample sample;
    struct command_options options = {.metric = {.text = {"rate: ([0-9.]+)"}, .n = 1},
                                      .grace_s = 5};
    assert_int_equal(step(&options, "printf 'rate: 1%070d' 0", &sample), 0);
    assert_true(sample.rate == 1e70);
    assert_int_equal(step(&options, "printf 'rate: 0.%070d' 5", &sample), 0);
    assert_true(sample.rate == 5e-70);
    assert_int_equal(step(&options, "printf 'rate: 2 %5000s' .", &sample), 0);
    assert_true(sample.rate == 2);
    assert_int_equal(step(&options, "printf '%4085srate: 1234567' .", &sample), -ERANGE);
    assert_has(w.err.msg, beyond);
    assert_int_equal(step(&options, "printf '%4085srate: 1234567\nrate: 3' .", &sample), 0);
    assert_true(sample.rate == 3);

    char path[256], script[512];
    put_text(path, "%s/metric", fixture_dir);
    put_text(script, "printf '%%05000d' 7 > '%s'", path);
    options = (struct command_options){.metric_file = path, .grace_s = 5};
    assert_int_equal(step(&options, script, &sample), -ERANGE);
    assert_has(w.err.msg, beyond);
}

TEST_IN_DIR(command_leaves_its_number_in_a_file)
{
    char path[256], script[512];
    struct sample sample;
    put_text(path, "%s/metric", fixture_dir);
    const struct command_options options = {.metric_file = path, .grace_s = 5};
    put_text(script, "echo 12.5 > '%s'", path);
    assert_int_equal(step(&options, script, &sample), 0);
    assert_true(sample.rate == 12.5);
    assert_true(step(&options, "true", &sample) < 0); /* the previous run's metric does not count */
    assert_has(w.err.msg, "left no metric in");
}

TEST_IN_DIR(command_that_does_not_end_is_told_to)
{
    struct sample sample;
    struct command_options options = {
        .metric = {.text = {"n=([0-9]+)"}, .n = 1}, .duration_s = 0.2, .grace_s = 5};
    assert_int_equal(step(&options, "echo n=5; exec sleep 5472", &sample), 0);
    assert_true(sample.rate == 5);
    assert_int_equal(w.report.killed, 0);
    options.grace_s = 0.1;
    assert_int_equal(
        step(&options, "trap '' TERM; echo n=5; while :; do sleep 5473; done", &sample), 0);
    assert_int_equal(w.report.killed, 1);
}

TEST_IN_DIR(command_lines_that_match_are_steps)
{
    struct sample sample = {0};
    const struct command_options options = {.by_lines = true, .line = "^step", .grace_s = 0};
    assert_int_equal(begin(&options, "while :; do echo step; echo other; sleep 0.01; done"), 0);
    assert_int_equal(w.bench->step(&w.ctx, 3, &sample), 0);
    assert_true(sample.ops >= 3);
    w.bench->teardown(&w.ctx);
    assert_int_equal(step(&options, "echo other", &sample), -ENODATA);
}

TEST_IN_DIR(command_load_that_nobody_waits_for_is_cut)
{
    struct sample sample = {0};
    assert_int_equal(begin(&plain, "exec sleep 5474"), 0);
    w.ctx.measuring = false;
    atomic_store(&w.stop, 1);
    assert_int_equal(w.bench->step(&w.ctx, 1, &sample), 0);
    assert_int_equal(sample.ops, 0);
    w.bench->teardown(&w.ctx);
}

TEST_IN_DIR(command_keeps_so_much_of_its_output)
{
    char path[256], *text;
    size_t size;
    struct sample sample = {0};
    put_text(path, "%s/output", fixture_dir);
    assert_int_equal(begin(&plain, "head -c 1200000 /dev/zero | tr '\\0' x"), 0);
    w.bench->teardown(&w.ctx);
    w.orders.command.output = path;
    assert_int_equal(w.bench->setup(&w.ctx), 0);
    assert_int_equal(w.bench->step(&w.ctx, 1, &sample), 0);
    w.bench->teardown(&w.ctx);
    assert_int_equal(w.report.cut_bytes, 1200000 - COMMAND_OUTPUT_MAX);
    assert_int_equal(file_read(fixture_dir_fd, "output", 1 << 21, &text, &size), 0);
    assert_int_equal(size, COMMAND_OUTPUT_MAX);
    free(text);
}
