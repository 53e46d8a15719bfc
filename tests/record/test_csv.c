/* rows.csv and samples.csv: bytes, quoting, and the remains after a full disk. */
#include "harness/record/csv.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_golden.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct rlimit file_size;

static int set_up(void **state)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    return fixture_make_dir(state) || getrlimit(RLIMIT_FSIZE, &file_size);
}

static int tear_down(void **state)
{
    (void)setrlimit(RLIMIT_FSIZE, &file_size);
    return fixture_remove_dir(state);
}

/* Limits the size of this process's files, as a full disk does. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, file_size.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void assert_file(const char *name, const char *want)
{
    FREED char *got = fixture_read(name, NULL);
    assert_non_null(got);
    assert_string_equal(got, want);
}

/* Keeps the header, one baseline, one placement and the skipped placement; other lines are of the
 * same kinds. */
static void keep_one_of_each(char *text)
{
    char *to = text, *next;
    for (char *line = text; *line; line = next) {
        next = strchr(line, '\n') + 1;
        size_t length = (size_t)(next - line);
        bool kept = line == text || memmem(line, length, ",none,1,", 8) ||
                    memmem(line, length, ",sized,", 7) || memmem(line, length, ",llc,", 5);
        memmove(to, line, kept ? length : 0);
        to += kept ? length : 0;
    }
    *to = '\0';
}

TEST_WITHIN(csv_golden, set_up, tear_down)
{
    DEMO_RESULT(result);
    ANALYSED(analysis, &result);
    assert_int_equal(csv_write(fixture_dir_fd, &analysis, NULL), 0);
    FREED char *rows = fixture_read("rows.csv", NULL), *rounds = fixture_read("rounds.csv", NULL);
    assert_true(rows && rounds);
    keep_one_of_each(rows);
    fixture_golden("rows_demo.csv", rows);
    keep_one_of_each(rounds);
    fixture_golden("rounds_demo.csv", rounds);
}

static struct row row_by_hand(void)
{
    return (struct row){.run_id = "a,b",
                        .scenario = "s\"q\"",
                        .placement = "none",
                        .role = "foreground",
                        .bench = "x\ny",
                        .device = "sim",
                        .metric = "steal",
                        .unit = "s",
                        .better = "lower",
                        .workers = 2,
                        .rounds = 3,
                        .samples = 12,
                        .median = 1.0 / 3,
                        .ci_low = -1e-12,
                        .ci_high = 1234567890123,
                        .p95 = NAN,
                        .p99 = NAN,
                        .min = 0,
                        .max = 1e300,
                        .status = STATUS_CENSORED,
                        .reason = "plain reason; no quotes"};
}

TEST_WITHIN(csv_rows_quotes_as_rfc_4180, set_up, tear_down)
{
    struct row row = row_by_hand();
    const struct analysis analysis = {.rows = {.n = 1, .capacity = 1, .row = &row}};
    assert_int_equal(csv_write(fixture_dir_fd, &analysis, NULL), 0);
    assert_file("rows.csv", ROW_COLUMNS
                "\n\"a,b\",\"s\"\"q\"\"\",none,2,foreground,\"x\ny\",,sim,steal,s,lower,3,12,"
                "0.333333333,-1e-12,1.23456789e+12,,,0,1e+300,censored,"
                "plain reason; no quotes\n");
}

TEST_WITHIN(csv_rows_empty_is_a_header, set_up, tear_down)
{
    const struct analysis analysis = {0};
    assert_int_equal(csv_write(fixture_dir_fd, &analysis, NULL), 0);
    assert_file("rows.csv", ROW_COLUMNS "\n");
}

TEST_WITHIN(csv_rows_full_disk_leaves_no_part, set_up, tear_down)
{
    struct row row = row_by_hand();
    const struct analysis analysis = {.rows = {.n = 1, .capacity = 1, .row = &row}};
    struct err err;
    limit_files(200);
    assert_int_equal(csv_write(fixture_dir_fd, &analysis, &err), -EFBIG);
    assert_string_equal(err.msg, "cannot write rows.csv: File too large");
    assert_int_equal(faccessat(fixture_dir_fd, "rows.csv", F_OK, 0), -1);
}

TEST_WITHIN(csv_rows_bad_directory, set_up, tear_down)
{
    const struct analysis analysis = {0};
    struct err err;
    assert_int_equal(csv_write(-1, &analysis, &err), -EBADF);
    assert_string_equal(err.msg, "cannot write rounds.csv: Bad file descriptor");
}

#define SAMPLES_HEADER                                                                             \
    "run_id,round,order,scenario,placement,workers,role,worker,bench,params,iter,start_ns,"        \
    "elapsed_ns,ops,bytes,rate,status\n"
#define RUN "20240102T030405Z-fixture,"
#define PARAMS "rows=64;cols=8;slots=2"
#define FIRST_ROUND                                                                                \
    RUN "0,0,fixture,none,2,foreground,0,fixture," PARAMS                                          \
        ",0,1000000000,10000000,100,4096,,ok\n" RUN                                                \
        "0,0,fixture,none,2,foreground,0,fixture," PARAMS                                          \
        ",4,1010000000,20000000,100,4096,,censored\n" RUN                                          \
        "0,0,fixture,none,2,foreground,1,fixture," PARAMS                                          \
        ",0,1000000000,10000000,100,4096,,ok\n" RUN                                                \
        "0,0,fixture,none,2,foreground,1,fixture," PARAMS                                          \
        ",1,1010000000,20000000,100,4096,,ok\n" RUN                                                \
        "0,1,fixture,partition,1,baseline,0,fixture," PARAMS                                       \
        ",0,1000000000,7000000,100,4096,,ok\n"

/* Two rounds of `none` with two workers, and one round of its baseline. */
static void make_samples(struct result *result)
{
    fixture_result_init(result);
    size_t none = fixture_add_arm(result, PLACE_NONE, 2, false);
    struct observation *first = fixture_add_round(result, none, 0, (double[]){10, 20}, 2);
    fixture_censor(first, 0);
    first->workers[0].samples[0].iters = 4;
    (void)fixture_add_round(result, none, 1, (double[]){30}, 1);
    size_t alone = fixture_add_arm(result, PLACE_PARTITION, 2, true);
    (void)fixture_add_round(result, alone, 0, (double[]){7}, 1);
}

TEST_WITHIN(csv_samples_bytes, set_up, tear_down)
{
    struct growing_file file = {0};
    ENDED_BY(fixture_result_free) struct result result;
    make_samples(&result);
    result.arms[0].observations[1].workers[1].background = true;
    assert_int_equal(csv_open(&file, fixture_dir_fd, CSV_SAMPLES_NAME, NULL), 0);
    assert_file("samples.csv", SAMPLES_HEADER);
    for (unsigned round = 0; round < 2; round++)
        assert_int_equal(csv_append_samples(&file, &result, round, NULL), 0);
    assert_int_equal(growing_close(&file, NULL), 0);
    assert_int_equal(growing_close(&file, NULL), 0);
    assert_file("samples.csv",
                SAMPLES_HEADER FIRST_ROUND RUN "1,0,fixture,none,2,foreground,0,fixture," PARAMS
                                               ",0,2000000000,30000000,100,4096,,ok\n");
}

TEST_WITHIN(csv_samples_full_disk_keeps_whole_rounds, set_up, tear_down)
{
    struct growing_file file = {0};
    ENDED_BY(fixture_result_free) struct result result;
    struct err err;
    make_samples(&result);
    assert_int_equal(csv_open(&file, fixture_dir_fd, CSV_SAMPLES_NAME, &err), 0);
    assert_int_equal(csv_append_samples(&file, &result, 0, &err), 0);
    limit_files((rlim_t)file.valid_bytes + 20); /* the next round fits only in part */
    assert_int_equal(csv_append_samples(&file, &result, 1, &err), -EFBIG);
    assert_string_equal(err.msg, "cannot write samples.csv: File too large");
    assert_file("samples.csv", SAMPLES_HEADER FIRST_ROUND);
    limit_files(file_size.rlim_cur);
    assert_int_equal(csv_append_samples(&file, &result, 1, &err), 0);
    assert_int_equal(growing_close(&file, &err), 0);
    assert_file("samples.csv",
                SAMPLES_HEADER FIRST_ROUND RUN "1,0,fixture,none,2,foreground,0,fixture," PARAMS
                                               ",0,2000000000,30000000,100,4096,,ok\n" RUN
                                               "1,0,fixture,none,2,foreground,1,fixture," PARAMS
                                               ",0,2000000000,30000000,100,4096,,ok\n");
}

TEST_WITHIN(csv_samples_full_device, set_up, tear_down)
{
    ENDED_BY(fixture_result_free) struct result result;
    struct err err;
    make_samples(&result);
    struct growing_file file = {
        .is_open = true, .fd = open("/dev/full", O_WRONLY | O_CLOEXEC), .name = "samples.csv"};
    if (file.fd >= 0) {
        assert_int_equal(csv_append_samples(&file, &result, 0, &err), -ENOSPC);
        assert_has(err.msg, "No space left on device");
        assert_int_equal(file.valid_bytes, 0);
        (void)close(file.fd);
    }
}

TEST_WITHIN(csv_samples_does_not_follow_links, set_up, tear_down)
{
    struct growing_file file = {0};
    assert_int_equal(symlinkat("target", fixture_dir_fd, "samples.csv"), 0);
    assert_int_equal(csv_open(&file, fixture_dir_fd, CSV_SAMPLES_NAME, NULL), -ELOOP);
    assert_false(file.is_open);
    assert_int_equal(faccessat(fixture_dir_fd, "target", F_OK, 0), -1);
}

TEST_WITHIN(csv_samples_open_on_a_full_disk, set_up, tear_down)
{
    struct growing_file file = {0};
    limit_files(10);
    assert_int_equal(csv_open(&file, fixture_dir_fd, CSV_SAMPLES_NAME, NULL), -EFBIG);
    assert_false(file.is_open);
}
