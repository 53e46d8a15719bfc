/* What a program knows it called against what its log tells: the same, less, and none. */
#include "harness/comms/findings/findings.h"

#include "harness/comms/logs/names.h"
#include "tests/lib/unit.h"

enum { PID = 7, COUNTS = 2 };

static struct comms_count counts[COUNTS];
static struct comms_log log_of_it;
static struct expected_calls made;

/* Three all-reduces of 100 bytes, told as calls and as work. */
static void begin(void)
{
    for (int i = 0; i < COUNTS; i++)
        counts[i] = (struct comms_count){
            .key = {.func = COMMS_ALL_REDUCE, .algo = i ? COMMS_RING : COMMS_CALLED, .peer = -1},
            .calls = 3,
            .bytes = 300};
    log_of_it = (struct comms_log){
        .header = {.pid = PID, .interface = 5}, .ncounts = COUNTS, .count = counts};
    made = (struct expected_calls){.n = 1, .func = {{"AllReduce", {.calls = 3, .bytes = 300}}}};
}

/* `id` of the only finding; "" = none. `differ`: of how many functions the sums do. */
static void expect(const char *id, uint64_t differ)
{
    const struct comms_logs logs = {.n = 1, .log = &log_of_it};
    struct comms_checked sum = {0};
    struct findings findings = {0};
    struct err err;
    assert_int_equal(comms_check(&logs, PID, &made, "it", &sum, &findings, &err), 0);
    assert_int_equal(findings.n, id[0] != '\0');
    if (findings.n)
        assert_string_equal(findings.all[0].id, id);
    assert_int_equal(sum.differ, differ);
    findings_free(&findings);
    assert_int_equal(comms_check_end(&sum, &findings, &err), 0);
    assert_int_equal(findings.n, !differ && sum.calls);
    findings_free(&findings);
}

TEST(check_finds_what_is_not_the_same)
{
    begin();
    expect("", 0);
    made.func[0].sum.bytes++;
    expect("comms_differs", 1);
    begin();
    counts[0].calls--;
    expect("comms_differs", 1);
    begin();
    counts[1].calls--; /* less work than calls */
    expect("comms_no_work", 0);
    begin();
    made.n = 0; /* calls of which the program says nothing */
    expect("comms_differs", 1);
}

/* Before interface 5 work is all that is told. */
TEST(check_of_work_alone)
{
    begin();
    log_of_it.header.interface = 4;
    counts[0].calls = counts[0].bytes = 0;
    expect("", 0);
    counts[1].calls--;
    expect("comms_differs", 1);
    begin();
    log_of_it.header.interface = 4;
    made.func[0].sum.captured = 2; /* nobody tells those apart */
    counts[1].calls = 9;
    expect("comms_graphs", 0);
}

TEST(check_without_a_log)
{
    begin();
    log_of_it.header.pid = PID + 1;
    expect("comms_no_log", 1);
    made.n = 0; /* nor did it call anything */
    expect("", 0);
}
