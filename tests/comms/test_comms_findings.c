/* Plants each fault of logs alone into good ones: exactly its finding must appear. */
#include "harness/comms/findings.h"

#include "harness/comms/plugin/names.h"
#include "tests/lib/unit.h"

enum { RANKS = 2, CALLS = 3, SIZE = 64 };

static struct comms_member members[RANKS];
static struct comms_log log_of[RANKS];
static struct comms_rank present[RANKS + 1];
static struct comms_done done[RANKS];
static struct comms_communicator communicator;

/* Two ranks with a log each, which made three calls of one collective and ended it. */
static void begin(void)
{
    const struct comms_key key = {.func = COMMS_ALL_GATHER,
                                  .datatype = COMMS_INT8,
                                  .algo = COMMS_RING,
                                  .proto = COMMS_SIMPLE,
                                  .bucket = comms_bucket(SIZE),
                                  .peer = -1};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        members[rank] = (struct comms_member){.state = COMMS_FINALIZED};
        log_of[rank] = (struct comms_log){.nmembers = 1, .member = &members[rank]};
        present[rank] =
            (struct comms_rank){.rank = rank, .log = &log_of[rank], .member = &members[rank]};
        done[rank] = (struct comms_done){
            rank, {.key = key, .calls = CALLS, .bytes = (uint64_t)CALLS * SIZE}};
    }
    communicator = (struct comms_communicator){.nranks = RANKS,
                                               .nodes = 1,
                                               .size_known = true,
                                               .npresent = RANKS,
                                               .present = present,
                                               .ndone = RANKS,
                                               .done = done};
}

static struct findings judged(void)
{
    const struct comms_logs logs = {.n = RANKS, .log = log_of};
    const struct comms comms = {.n = 1, .communicator = &communicator};
    struct findings findings = {0};
    assert_int_equal(comms_measure(&communicator, NULL), 0);
    comms_judge(&logs, &comms, &findings);
    comms_unmeasure(&communicator);
    return findings;
}

/* Expects `id` as the only finding; "" = none. */
static void expect(const char *id)
{
    AUTO(findings) findings = judged();
    assert_int_equal(findings.n, id[0] != '\0');
    if (findings.n)
        assert_string_equal(findings.all[0].id, id);
}

TEST(good_logs_have_no_finding)
{
    begin();
    expect("");
}

TEST(ranks)
{
    begin();
    members[1].state = COMMS_ALIVE;
    expect("comms_alive");
    members[0].state = COMMS_ALIVE; /* all members: a program that destroys nothing */
    expect("");

    begin();
    communicator.nranks = RANKS + 1;
    expect("comms_missing");

    begin();
    present[RANKS] = present[RANKS - 1];
    communicator.npresent = RANKS + 1;
    expect("comms_twice");

    begin();
    communicator.size_known = false;
    expect("comms_size_not_told");
}

static void expect_severity(size_t at, const char *id, enum finding_severity severity)
{
    AUTO(findings) findings = judged();
    assert_true(findings.n > at);
    assert_string_equal(findings.all[at].id, id);
    assert_int_equal(findings.all[at].severity, severity);
}

/* Copies of logs may be from different moments unless their processes ended. */
TEST(copies_from_before_the_end)
{
    begin();
    log_of[0].header.copied_ns = 1;
    expect(""); /* finalized: later calls do not count */
    members[0].state = members[1].state = COMMS_ALIVE;
    expect("comms_lacking");
    done[1].count.calls++;
    expect_severity(1, "comms_uneven", FINDING_NOTE);
    log_of[0].header.copied_ns = 0;
    expect_severity(0, "comms_uneven", FINDING_DOUBT);
    communicator.ndone = 0;
    expect_severity(0, "comms_no_calls", FINDING_DOUBT);
    log_of[0].header.copied_ns = 1;
    expect_severity(1, "comms_no_calls", FINDING_NOTE);
}

TEST(calls)
{
    begin();
    done[1].count.calls++;
    expect("comms_uneven");

    begin();
    for (unsigned rank = 0; rank < RANKS; rank++)
        done[rank].count.key.datatype = COMMS_UINT8;
    expect("comms_uint8");

    begin();
    for (unsigned rank = 0; rank < RANKS; rank++)
        done[rank].count.key.datatype = COMMS_TYPE_OTHER;
    expect("comms_type");

    begin();
    for (unsigned rank = 0; rank < RANKS; rank++)
        done[rank].count.key.captured = 1;
    expect("comms_captured");

    begin();
    for (unsigned rank = 0; rank < RANKS; rank++)
        done[rank].count.key.bucket = COMMS_BUCKET_ANY;
    expect("comms_coarse");
}

TEST(what_logs_had_no_room_for)
{
    begin();
    log_of[1].dropped = 1;
    expect("comms_dropped");

    begin();
    log_of[0].header.unplaced_calls = 1;
    expect("comms_unplaced");

    begin();
    log_of[0].header.unknown_events = 1;
    expect("comms_unknown");

    begin();
    log_of[1].header.nmembers = COMMS_MEMBERS;
    expect("");
    log_of[1].header.nmembers++;
    expect("comms_left_out");
}
