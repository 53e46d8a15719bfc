/* A job that doctor --verify --restart starts and that ends early. */
#include <sys/mman.h>

#include "harness/doctor/doctor_verify.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static int stay(void *arg)
{
    for (;;)
        (void)pause();
    return arg != NULL;
}

/* The view may show a zombie before the parent can wait for it. */
TEST(restart_says_the_last_line_of_a_job_that_a_look_does_not_find)
{
    const struct doctor_verify_options options = {.restart = "job"};
    struct doctor_verify verify = {.options = &options,
                                   .output_fd = memfd_create("output", MFD_CLOEXEC)};
    struct err err = {.msg = "a zombie"};
    assert_int_equal(write(verify.output_fd, "one\nno such model\n", 18), 18);
    assert_int_equal(process_start(&verify.job.process, true, stay, NULL), 0);
    assert_int_equal(doctor_verify_check_job(&verify, -EIO, &err), -EIO);
    assert_string_equal(err.msg, "a zombie");
    assert_int_equal(doctor_verify_check_job(&verify, -ESRCH, &err), -ECHILD);
    assert_has(err.msg, "no such model");
    doctor_launch_end(&verify.job);
    assert_int_equal(close(verify.output_fd), 0);
}

static bool end(void *arg)
{
    fixture_put("/log", "a step\n");
    return false;
}

TEST_IN_DIR(restart_takes_what_a_job_reports_as_it_ends)
{
    static char text[256];
    AUTO(meter) meter = {.n = 1};
    put_text(text, "lines:%s/log", fixture_dir);
    fixture_put("/log", "");
    assert_int_equal(metric_parse(text, false, &meter.all[0], NULL), 0);
    assert_int_equal(metric_begin(&meter.all[0], NULL), 0);
    assert_int_equal(meter_await(&meter, 0, end, NULL, NULL, NULL), 0);
}
