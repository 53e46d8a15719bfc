/* Which made-up ranks came late to calls, which waited, and how fast the calls were. */
#include "harness/comms/merge.h"

#include "harness/comms/plugin/names.h"
#include "tests/lib/unit.h"

enum { RANKS = 3, CALLS = 400 };

static struct comms_member members[RANKS];
static struct comms_event events[RANKS][CALLS], all[RANKS * CALLS];
static struct comms_log logs[RANKS];
static struct comms_rank present[RANKS];

/* Calls follow each other by 1 ms. Rank r is `late[r]` us late, needs `took[r]` us on its GPU. */
static struct comms_communicator communicator_of(const unsigned late[RANKS],
                                                 const unsigned took[RANKS])
{
    const struct comms_key key = {.func = COMMS_ALL_REDUCE, .algo = COMMS_RING, .peer = -1};
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint64_t i = 0; i < CALLS; i++)
            events[r][i] = (struct comms_event){.stamp = i + 1,
                                                .key = comms_key_pack(&key),
                                                .time_ns = i * 1000000 + late[r] * 1000ull,
                                                .duration_ns = took[r] * 1000ull,
                                                .sequence = i + 1};
        logs[r] = (struct comms_log){
            .nmembers = 1, .nevents = CALLS, .member = &members[r], .event = events[r]};
        present[r] = (struct comms_rank){.rank = r, .log = &logs[r], .member = &members[r]};
    }
    return (struct comms_communicator){
        .nranks = RANKS, .nodes = 1, .npresent = RANKS, .present = present};
}

static void make(const struct comms_communicator *communicator, struct comms_arrival *arrival)
{
    assert_int_equal(comms_arrival_make(communicator, arrival, NULL), 0);
}

static size_t count_findings(const struct comms_arrival *arrival)
{
    AUTO(findings) findings = {0};
    struct findings_about about = {&findings, "it"};
    comms_arrival_judge(arrival, &about);
    size_t n = findings.n;
    return n;
}

TEST(arrival_names_who_is_late_and_who_waited)
{
    struct comms_communicator communicator =
        communicator_of((unsigned[]){0, 200, 50}, (unsigned[]){300, 100, 250});
    AUTO(comms_arrival) arrival;
    make(&communicator, &arrival);
    assert_int_equal(arrival.calls, CALLS - 1); /* the first call does not count */
    assert_int_equal(arrival.span_ns, (CALLS - 2) * 1000000 + 200000);
    assert_int_equal(arrival.rank[0].last, 0);
    assert_int_equal(arrival.rank[1].last, CALLS - 1);
    assert_int_equal(arrival.rank[1].late_ns, (CALLS - 1) * 200000);
    assert_int_equal(arrival.rank[2].late_ns, (CALLS - 1) * 50000);
    assert_int_equal(arrival.rank[0].waited_ns, (CALLS - 1) * 200000);
    assert_int_equal(arrival.rank[1].waited_ns, 0);
    assert_true(fabs(comms_arrival_waited(&arrival) - 350.0 / 650.0) < 1e-9);
    assert_int_equal(count_findings(&arrival), 1);
}

/* Always last within one process: the ranks take turns, unless sometimes another rank is last. */
TEST(arrival_tells_turns_from_lateness)
{
    static const char *const ids[] = {"comms_in_turn", "comms_late"};
    for (int c = 0; c < 2; c++) {
        struct comms_communicator communicator =
            communicator_of((unsigned[]){0, 200, 50}, (unsigned[]){300, 100, 250});
        AUTO(comms_arrival) arrival;
        AUTO(findings) findings = {0};
        for (uint32_t r = 0; r < RANKS; r++) {
            present[r].log = &logs[0];
            for (uint64_t i = 0; i < CALLS; i++) {
                struct comms_key key = comms_key_unpack(events[r][i].key);
                key.member = r;
                struct comms_event *joined = &all[(size_t)r * CALLS + i];
                *joined = events[r][i];
                joined->key = comms_key_pack(&key);
            }
        }
        logs[0].member = members;
        logs[0].nmembers = RANKS;
        logs[0].event = all;
        logs[0].nevents = (size_t)RANKS * CALLS;
        if (c)
            all[7].time_ns += 500000;
        make(&communicator, &arrival);
        struct findings_about about = {&findings, "it"};
        comms_arrival_judge(&arrival, &about);
        assert_int_equal(findings.n, 1);
        assert_string_equal(findings.all[0].id, ids[c]);
    }
}

/* Last by a negligible time: no finding. Untimed calls: no share. */
TEST(arrival_lets_trifles_be)
{
    struct comms_communicator communicator =
        communicator_of((unsigned[]){0, 5, 0}, (unsigned[]){300, 100, 0});
    AUTO(comms_arrival) arrival;
    make(&communicator, &arrival);
    assert_int_equal(arrival.rank[1].last, CALLS - 1);
    assert_int_equal(arrival.timed, 0);
    assert_true(isnan(comms_arrival_waited(&arrival)));
    assert_int_equal(count_findings(&arrival), 0);
}

/* Always last, but no rank waits: the GPUs had work queued. */
TEST(arrival_lets_lateness_be_that_costs_nothing)
{
    struct comms_communicator communicator =
        communicator_of((unsigned[]){0, 500, 0}, (unsigned[]){100, 100, 101});
    AUTO(comms_arrival) arrival;
    make(&communicator, &arrival);
    assert_int_equal(count_findings(&arrival), 0);
}

/* Two ranks, each at times the last: the second has to cost six times as much as the first. */
TEST(arrival_needs_more_than_chance)
{
    static const struct {
        unsigned late_us;
        size_t findings;
    } cases[] = {{700, 0}, {150, 0}, {990, 1}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct comms_communicator communicator =
            communicator_of((unsigned[]){0, 0, 0}, (unsigned[]){300, 100, 300});
        AUTO(comms_arrival) arrival;
        for (uint64_t i = 0; i < CALLS; i++)
            events[1 + (i % 4 == 0)][i].time_ns += (i % 4 ? cases[c].late_us : 400) * 1000ull;
        make(&communicator, &arrival);
        assert_true(arrival.rank[1].last < 0.8 * (double)arrival.calls);
        assert_int_equal(count_findings(&arrival), cases[c].findings);
    }
}

/* Rank 1 sleeps a fifth of each call from a late one on. */
TEST(arrival_of_the_last_seconds_shows_what_began_late)
{
    enum { LATE = 26, BEGAN = CALLS - LATE };
    static struct comms_look looks[2][CALLS];
    struct comms_communicator communicator =
        communicator_of((unsigned[]){0, 200, 0}, (unsigned[]){0, 0, 0});
    AUTO(comms_arrival) arrival;
    AUTO(findings) findings = {0};
    struct findings_about about = {&findings, "it"};
    for (uint64_t i = 0; i < CALLS; i++) {
        events[1][i].time_ns -= i < BEGAN ? 200000 : 0;
        looks[0][i] = (struct comms_look){.time_ns = i * 1000000, .cpu_ns = i * 1000000, .tid = 1};
        looks[1][i] = looks[0][i];
        looks[1][i].cpu_ns -= i > BEGAN ? (i - BEGAN) * 200000 : 0;
    }
    for (int r = 0; r < 2; r++) {
        logs[r].look = looks[r];
        logs[r].nlooks = CALLS;
    }
    make(&communicator, &arrival);
    assert_int_equal(count_findings(&arrival), 0);
    comms_arrival_free(&arrival);
    comms_logs_keep_last(&(struct comms_logs){.n = RANKS, .log = logs}, 0.0255);
    assert_int_equal(logs[1].nevents, LATE);
    assert_int_equal(logs[1].dropped, BEGAN);
    make(&communicator, &arrival);
    assert_int_equal(arrival.calls, LATE);
    assert_int_equal(arrival.rank[1].last, LATE);
    comms_arrival_judge(&arrival, &about);
    assert_int_equal(findings.n, 2);
    assert_string_equal(comms_cause_name(arrival.rank[1].cause.part), "sleep");
    comms_logs_keep_last(&(struct comms_logs){.n = RANKS, .log = logs}, 0);
    assert_int_equal(logs[1].nevents, LATE);
}

/* Calls that a rank lacks are left out; clocks of two machines are not compared. */
TEST(arrival_compares_the_same_calls_by_one_clock)
{
    struct comms_communicator communicator =
        communicator_of((unsigned[]){0, 200, 50}, (unsigned[]){1, 1, 1});
    AUTO(comms_arrival) arrival;
    events[1][7].sequence = 1000;
    logs[2].nevents = 30;
    make(&communicator, &arrival);
    assert_int_equal(arrival.calls, 30 - 1 - 1);
    comms_arrival_free(&arrival);
    put_text(logs[2].header.host, "other");
    make(&communicator, &arrival);
    assert_int_equal(arrival.calls, 0);
    assert_int_equal(count_findings(&arrival), 0);
}

TEST(line_speed_is_that_of_nccl_tests)
{
    static const struct {
        uint32_t func;
        double algbw, busbw;
    } cases[] = {{COMMS_ALL_REDUCE, 2e9, 3e9},
                 {COMMS_ALL_GATHER, 8e9, 6e9},
                 {COMMS_REDUCE_SCATTER, 8e9, 6e9},
                 {COMMS_BROADCAST, 2e9, 2e9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct comms_line line = {
            .func = cases[i].func, .timed_calls = 10, .timed_ns = 5000000, .timed_bytes = 10000000};
        const struct comms_speed speed = comms_line_speed(&line, 4);
        assert_true(fabs(speed.time - 5e-4) < 1e-12);
        assert_true(fabs(speed.algbw - cases[i].algbw) < 1);
        assert_true(fabs(speed.busbw - cases[i].busbw) < 1);
        assert_true(isnan(comms_line_speed(&line, 1).busbw));
    }
    const struct comms_line untimed = {.func = COMMS_ALL_REDUCE, .calls = 3};
    assert_true(isnan(comms_line_speed(&untimed, 4).time));
}
