/* Sources for the speed of a job: logs that grow, are rotated or truncated, and commands. */
#include "harness/doctor/metric.h"

#include <sys/stat.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static void add(const char *path, const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void open_metric(struct metric *metric, const char *before, const char *path,
                        const char *behind)
{
    static char text[512]; /* the metric points into it */
    struct err err = {.msg = ""};
    put_text(text, "%s%s%s", before, path, behind);
    if (metric_parse(text, false, metric, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(metric_begin(metric, &err), 0);
}

static double last_of(struct metric *metric)
{
    struct err err = {.msg = ""};
    if (metric_look(metric, &err))
        fail_msg("%s", err.msg);
    return metric->n ? metric->samples[metric->n - 1].value : -1;
}

/* Lines before the block do not count; empty lines are no steps. */
TEST_IN_DIR(metric_counts_lines_of_a_log)
{
    AUTO(metric) metric;
    char path[256], next[256];
    put_text(path, "%s/at 10:00.log", fixture_dir);
    put_text(next, "%s/next", fixture_dir);
    add(path, "we", "old\nold\nhal");
    open_metric(&metric, "lines:", path, "");
    assert_string_equal(metric.path, path); /* the colon belongs to the file's name */
    assert_int_equal((int)last_of(&metric), 0);
    assert_false(metric_has_progress(&metric));
    add(path, "ae", "f\none\r\n\n1%\r2%\r");
    assert_int_equal((int)last_of(&metric), 4);
    assert_true(metric_has_progress(&metric));
    /* Rotated: another file has the name now. */
    add(next, "we", "a\nb\n");
    assert_int_equal(rename(next, path), 0);
    assert_int_equal((int)last_of(&metric), 6);
    /* Truncated, as by the shell's >. */
    add(path, "we", "c\n");
    assert_int_equal((int)last_of(&metric), 7);
    assert_int_equal(metric_begin(&metric, NULL), 0);
    assert_int_equal((int)last_of(&metric), 0);
    metric_free(&metric);

    open_metric(&metric, "lines:", path, ":^step");
    add(path, "ae", "step 1\nloss\nstep 2\n");
    assert_int_equal((int)last_of(&metric), 2);
}

TEST_IN_DIR(metric_takes_numbers_of_a_log)
{
    AUTO(metric) metric;
    char path[256];
    put_text(path, "%s/log", fixture_dir);
    add(path, "we", "9.5 it/s\n");
    open_metric(&metric, "file:", path, ":([0-9.]+) it/s");
    assert_int_equal((int)last_of(&metric), -1);
    add(path, "ae", "2.5 it/s, loss 1\nnothing\n10 it/s\n");
    assert_true(last_of(&metric) == 10);
    assert_int_equal(metric.n, 2);
    assert_true(metric.samples[0].value == 2.5);
    metric.is_cost = true;
    add(path, "ae", "4 it/s\n");
    assert_true(last_of(&metric) == 0.25);
    add(path, "ae", "0 it/s\n");
    assert_int_equal(metric_look(&metric, NULL), -EINVAL);
}

TEST_IN_DIR(metric_asks_commands)
{
    AUTO(metric) metric;
    struct err err;
    char path[256];
    put_text(path, "%s/count", fixture_dir);
    add(path, "we", "10\n");
    open_metric(&metric, "counter:cat '", path, "' | head -1");
    assert_int_equal((int)last_of(&metric), 10);
    assert_int_equal(metric.n, 1); /* the file did not grow */
    add(path, "we", "12.5\n");
    assert_true(last_of(&metric) == 12.5);
    add(path, "we", "3\n");
    assert_int_equal(metric_look(&metric, &err), -EINVAL);
    assert_has(err.msg, "the counter fell from 12.5 to 3");
    metric_free(&metric);

    open_metric(&metric, "rate:cat '", path, "'");
    assert_int_equal((int)last_of(&metric), 3);
    add(path, "we", "fast\n");
    assert_int_equal(metric_look(&metric, &err), -EINVAL);
    add(path, "we", "nan\n");
    assert_int_equal(metric_look(&metric, &err), -EINVAL);
}

/* A command that closes its output and lives was waited for without end. */
TEST_IN_DIR(metric_ends_commands_that_stay)
{
    AUTO(metric) metric;
    struct signals signals = {.fd = -1};
    open_metric(&metric, "rate:echo 5; exec >&-; sleep 1000", "", "");
    assert_int_equal(metric_look(&metric, NULL), -ETIME);
    signals.interrupted = SIGTERM;
    metric.signals = &signals;
    assert_int_equal(metric_look(&metric, NULL), -EINTR);
}

TEST_IN_DIR(metric_refuses_what_is_no_metric)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"cpu", "type --verify lines:LOG, file:LOG:REGEX, counter:COMMAND or rate:COMMAND"},
        {"lines:", "LOG is the file"},
        {"lines:/nonexistent/log", "cannot read '/nonexistent/log'"},
        {"lines:-", "start it by --restart COMMAND"},
        {"file:/proc/self/stat", "which number of a line"},
        {"file:/proc/self/stat:x", "has 0 groups"},
        {"lines:/proc/self/stat:(", "is no regular expression"},
        {"rate: ", "no command"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(metric) metric;
        struct err err = {.msg = ""};
        assert_int_equal(metric_parse(cases[i].text, false, &metric, &err), -EINVAL);
        assert_has(err.msg, cases[i].why);
    }
    /* Reading a pipe would take data from its real reader. */
    AUTO(metric) metric;
    struct err err;
    char path[256], text[300];
    put_text(path, "%s/pipe", fixture_dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    put_text(text, "lines:%s", path);
    assert_int_equal(metric_parse(text, false, &metric, &err), 0);
    assert_int_equal(metric_begin(&metric, &err), -EINVAL);
}
