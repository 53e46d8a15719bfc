/* Who waits for whom: what is read of a thread, and circles in graphs that are made up. */
#include "harness/doctor/view_locks.h"

#include <asm/unistd.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/random.h"
#include "harness/doctor/check.h"
#include "harness/doctor/host.h"

enum { WAIT = 0, WAKE = 1, LOCK_PI = 6, WAIT_BITSET = 9, PRIVATE = 128, REALTIME = 256 };
enum { ROBUST = 16, INHERIT = 32, PROTECT = 64, SHARED = 128 };
#define WAITERS 0x80000000u

static const char *text_of(long number, unsigned op, unsigned value, unsigned long time_out)
{
    static char text[256];
    (void)snprintf(text, sizeof(text),
                   "%ld 0x7f0000001000 0x%x 0x%x 0x%lx 0x1 0xffffffffffffffff 0x7ffe00000f00 "
                   "0x7f00000fffff\n",
                   number, op, value, time_out);
    return text;
}

static void test_a_thread_in_futex_is_read(void **state)
{
    struct futex_call call;
    (void)state;
    assert_true(view_read_futex(text_of(__NR_futex, WAIT | PRIVATE, 2, 0), &call));
    assert_int_equal(call.address, 0x7f0000001000);
    assert_int_equal(call.value, 2);
    assert_int_equal(call.way, FUTEX_IN_WAIT);
    assert_int_equal(call.stack, 0x7ffe00000f00);
    assert_int_equal(call.code, 0x7f00000fffff);
    assert_true(call.is_private);
    assert_true(view_read_futex(text_of(__NR_futex, WAIT_BITSET | REALTIME, 7, 0), &call));
    assert_int_equal(call.way, FUTEX_IN_WAIT_BITSET);
    assert_false(call.is_private);
    assert_true(view_read_futex(text_of(__NR_futex, LOCK_PI | PRIVATE, 0, 0), &call));
    assert_int_equal(call.way, FUTEX_IN_LOCK_PI);
    /* futex_wait(address, value, mask, flags, time-out, clock) */
    assert_true(view_read_futex("455 0x1000 0x2 0xffffffff 0x82 0x0 0x0 0x7ffe0000 0x1\n", &call));
    assert_int_equal(call.value, 2);
    assert_true(call.is_private);
}

static void test_other_calls_and_time_outs_are_left_out(void **state)
{
    struct futex_call call;
    static const char *const others[] = {
        "",
        "running\n",
        "-1 0x7ffe00000f00 0x7f00000fffff\n",
        "0 0x3 0x7f08e0efd000 0x20000 0x7f08e0f89b60 0xffffffff 0x0 0x7ffd8ca27b78 0x7f08e10722ad",
        "455 0x1000 0x2 0xffffffff 0x82 0x7ffe0010 0x0 0x7ffe0000 0x1\n", /* a time-out */
        "455 0x1000 0x2 0xffffffff 0x80 0x0 0x0 0x7ffe0000 0x1\n",        /* one byte */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(view_read_futex(others[i], &call));
    assert_false(view_read_futex(text_of(__NR_futex, WAIT | PRIVATE, 2, 0x7ffe00000e00), &call));
    assert_false(view_read_futex(text_of(__NR_futex, WAKE | PRIVATE, 1, 0), &call));
}

/* Cut anywhere, and with any byte replaced: never more than it says, and never beyond its end. */
static void test_broken_texts_are_refused_or_read(void **state)
{
    struct futex_call call;
    const char *good = text_of(__NR_futex, WAIT | PRIVATE, 2, 0);
    const size_t length = strlen(good);
    const char *stack = strstr(good, "0x7ffe");
    uint64_t random = 7;
    (void)state;
    assert_true(length > 0 && stack);
    for (size_t n = 0; n < length; n++) {
        char *cut = strndup(good, n); /* the sanitizer sees its end */
        assert_non_null(cut);
        bool known = view_read_futex(cut, &call);
        if (good + n <= stack)
            assert_false(known);
        free(cut);
    }
    for (int i = 0; i < 20000; i++) {
        char *copy = strdup(good);
        assert_non_null(copy);
        for (int changes = 0; changes < 3; changes++)
            copy[random_next(&random) % length] = (char)(random_next(&random) & 0xff);
        if (view_read_futex(copy, &call))
            assert_true(call.address && call.address % 4 == 0);
        free(copy);
    }
    assert_false(view_read_futex("202 0x10000000000000000 0x80 0x2 0x0 0x0 0x0 0x1 0x1", &call));
    assert_false(view_read_futex("202 0x1001 0x80 0x2 0x0 0x0 0x0 0x1 0x1", &call));
    assert_false(view_read_futex("202 0x0 0x80 0x2 0x0 0x0 0x0 0x1 0x1", &call));
}

static struct futex_call call_of(enum futex_way way, uint32_t value, bool is_private)
{
    return (struct futex_call){
        .address = 0x1000, .value = value, .way = way, .is_private = is_private};
}

static void test_mutexes_name_their_holder(void **state)
{
    const struct {
        struct futex_call call;
        uint32_t words[LOCK_WORDS]; /* word, count, holder, users, type */
        enum lock_kind kind;
        uint32_t holder;
    } seen[] = {
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 1, 0}, LOCK_MUTEX, 77},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 3, 77, 1, 1}, LOCK_MUTEX, 77}, /* recursive */
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 1, 3}, LOCK_MUTEX, 77}, /* adaptive */
        {call_of(FUTEX_IN_WAIT, 2, false), {2, 0, 77, 1, SHARED}, LOCK_MUTEX, 77},
        {call_of(FUTEX_IN_WAIT, WAITERS | 77, false),
         {WAITERS | 77, 1, 77, 1, ROBUST | SHARED},
         LOCK_ROBUST,
         77},
        {call_of(FUTEX_IN_LOCK_PI, 0, true),
         {WAITERS | 77, 1, 77, 1, INHERIT},
         LOCK_INHERITING,
         77},
        {call_of(FUTEX_IN_WAIT_BITSET, 77, false), {77, 0, 0, 0, 0}, LOCK_THREAD_END, 77},
        /* Free, or not waited for any more. */
        {call_of(FUTEX_IN_WAIT, 2, true), {0, 0, 0, 0, 0}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {1, 0, 77, 1, 0}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 0, 0, 0}, LOCK_NONE, 0}, /* being given away */
        /* What looks like one: a count that only recursive ones have, users, a type, a way. */
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 5, 77, 1, 0}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 1, 1}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 0, 0}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, UINT32_MAX, 0}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 1, 4}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 1, PROTECT}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 77, 1, SHARED}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, 2, false), {2, 0, 77, 1, 0}, LOCK_THREAD_END, 2}, /* or so */
        {call_of(FUTEX_IN_WAIT_BITSET, 2, true), {2, 0, 77, 1, 0}, LOCK_NONE, 0}, /* Rust's */
        {call_of(FUTEX_IN_WAIT, 2, true), {2, 0, 1u << 23, 1, 0}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT, WAITERS | 77, false),
         {WAITERS | 77, 1, 78, 1, ROBUST | SHARED},
         LOCK_NONE,
         0},
        {call_of(FUTEX_IN_LOCK_PI, 0, true), {0, 0, 0, 0, INHERIT}, LOCK_NONE, 0},
        /* Condition variables and semaphores. */
        {call_of(FUTEX_IN_WAIT_BITSET, 0, true), {0, 0, 2, 0, 77}, LOCK_NONE, 0},
        {call_of(FUTEX_IN_WAIT_BITSET, 0, true), {0, 1, 0, 0, 0}, LOCK_NONE, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        struct lock_seen is = view_read_lock(&seen[i].call, seen[i].words);
        assert_int_equal(is.kind, seen[i].kind);
        assert_int_equal(is.holder, seen[i].holder);
    }
}

static void test_a_zero_on_its_own_stack_may_be_a_refusal(void **state)
{
    struct futex_call call = call_of(FUTEX_IN_WAIT_BITSET, 0, true);
    (void)state;
    call.stack = call.address - 0x54;
    assert_true(view_may_be_refused(&call, 0));
    assert_false(view_may_be_refused(&call, 1));
    call.value = 1;
    assert_false(view_may_be_refused(&call, 0));
    call.value = 0;
    call.stack = call.address - LOCK_STACK_MOST;
    assert_false(view_may_be_refused(&call, 0));
    call.stack = call.address + 4;
    assert_false(view_may_be_refused(&call, 0));
}

/* Stacks as the C library of aarch64 leaves them: the 0, the guard, the record of the caller. */
static void test_frames_of_one_function_are_alike(void **state)
{
    enum { RECORD = 2 };
    const uint64_t guard = 0x9a4c11d07fe35b00;
    struct futex_call one = {.stack = 0x7f0010, .address = 0x7f0014, .code = 0x40001708};
    struct futex_call other = {.stack = 0x8f0010, .code = 0x400018b0};
    uint64_t here[LOCK_FRAME_WORDS] = {0xaaaa, guard, 0x7f0080, 0x500100};
    uint64_t there[LOCK_FRAME_WORDS] = {0xbbbb, guard, 0x8f0080, 0x500200};
    size_t at;
    (void)state;
    assert_true(view_are_alike(&one, here, &other, there, &at));
    assert_int_equal(at, RECORD);
    assert_int_equal(view_way_back(0x002a000000500100), 0x500100); /* signed */
    one.address = 0x7f0028; /* behind the record: a semaphore of the caller's */
    assert_false(view_are_alike(&one, here, &other, there, &at));
    one.address = 0x7f0014;
    other.code += LOCK_NEAR_CODE; /* in another part of the library */
    assert_false(view_are_alike(&one, here, &other, there, &at));
    other.code -= LOCK_NEAR_CODE;
    there[1] ^= 0x100;
    assert_false(view_are_alike(&one, here, &other, there, &at));
    there[1] = here[1] = 0; /* no guard */
    assert_false(view_are_alike(&one, here, &other, there, &at));
    there[1] = here[1] = guard;
    there[RECORD] = 0x8f0010; /* a frame that leads nowhere */
    assert_false(view_are_alike(&one, here, &other, there, &at));
    memset(here, 0, sizeof(here));
    assert_false(view_are_alike(&one, here, &other, there, &at));
}

static void test_calls_are_known(void **state)
{
    (void)state;
#ifdef __aarch64__
    assert_true(view_is_call((const uint8_t[]){0, 0x75, 0xe7, 0xff, 0x97}));  /* bl, back */
    assert_true(view_is_call((const uint8_t[]){0, 0x01, 0x00, 0x00, 0x94}));  /* bl */
    assert_true(view_is_call((const uint8_t[]){0, 0x40, 0x00, 0x3f, 0xd6}));  /* blr x2 */
    assert_false(view_is_call((const uint8_t[]){0, 0x75, 0xe7, 0xff, 0x17})); /* b */
    assert_false(view_is_call((const uint8_t[]){0, 0xc0, 0x03, 0x5f, 0xd6})); /* ret */
#else
    assert_true(view_is_call((const uint8_t[]){0xe8, 0, 0, 0, 0}));
    assert_false(view_is_call((const uint8_t[]){0xe9, 0, 0, 0, 0}));
#endif
}

static void test_status_files(void **state)
{
    static const char status[] = "Name:\tvoluntary_ctxt_switches:\t9\nNSpid:\t4711\t57\t3\n"
                                 "voluntary_ctxt_switches:\t93\nnonvoluntary_ctxt_switches:\t13\n";
    uint64_t switches = 0;
    uint32_t number = 0;
    unsigned depth;
    (void)state;
    assert_true(view_read_switches(status, &switches));
    assert_int_equal(switches, 106);
    assert_true(view_read_number(status, &number, &depth));
    assert_int_equal(number, 3);
    assert_int_equal(depth, 3);
    assert_false(view_read_switches("Name:\tx\nvoluntary_ctxt_switches:\t93\n", &switches));
    assert_false(view_read_number("Name:\tx\nNSpid:\n", &number, &depth));
    assert_false(view_read_number("", &number, &depth));
}

/* Each waits for the lock of the number of its holder; 0 = that of nobody here. */
struct edge {
    int tid, holder;
};

enum { MOST = 64 };

static size_t make(struct lock_wait *waits, const struct edge *edges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        waits[i] = (struct lock_wait){.tid = edges[i].tid,
                                      .name = "worker",
                                      .kind = LOCK_MUTEX,
                                      .lock = 0x1000 + 0x40 * (uint64_t)edges[i].holder,
                                      .number = (uint32_t)edges[i].holder,
                                      .holder = edges[i].holder,
                                      .switches = 5};
    return n;
}

#define MAKE(waits, ...)                                                                           \
    make((waits), (const struct edge[]){__VA_ARGS__},                                              \
         sizeof((const struct edge[]){__VA_ARGS__}) / sizeof(struct edge))

static void test_circles_are_found(void **state)
{
    struct lock_wait waits[MOST];
    (void)state;
    size_t n = MAKE(waits, {10, 10}); /* itself */
    assert_int_equal(lock_waits_join(waits, n), 1);
    assert_int_equal(waits[0].circle, 0);
    n = MAKE(waits, {10, 11}, {11, 10});
    assert_int_equal(lock_waits_join(waits, n), 1);
    assert_int_equal(waits[0].next, 1);
    assert_int_equal(waits[1].next, 0);
    n = MAKE(waits, {10, 12}, {11, 10}, {12, 11});
    assert_int_equal(lock_waits_join(waits, n), 1);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(waits[i].circle, 0);
    assert_true(lock_waits_are_stuck(waits, n));
}

static void test_who_waits_for_one_that_runs_is_in_no_circle(void **state)
{
    struct lock_wait waits[MOST];
    (void)state;
    /* 13 holds the last, and waits for nothing: it runs, sleeps, or waits for a condition. */
    size_t n = MAKE(waits, {10, 11}, {11, 12}, {12, 13});
    assert_int_equal(lock_waits_join(waits, n), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(waits[i].circle, -1);
        assert_int_equal(waits[i].behind, -1);
    }
    assert_false(lock_waits_are_stuck(waits, n));
    assert_int_equal(lock_waits_join(NULL, 0), 0);
}

static void test_those_behind_a_circle_are_no_part_of_it(void **state)
{
    struct lock_wait waits[MOST];
    (void)state;
    /* 8 and 9 wait for 10 and 11, which wait for each other, as do 20 and 21; 30 for one that
     * runs. */
    size_t n = MAKE(waits, {8, 9}, {9, 11}, {10, 11}, {11, 10}, {20, 21}, {21, 20}, {30, 31});
    assert_int_equal(lock_waits_join(waits, n), 2);
    assert_int_equal(waits[0].circle, -1);
    assert_int_equal(waits[1].circle, -1);
    assert_int_equal(waits[0].behind, waits[2].circle);
    assert_int_equal(waits[1].behind, waits[2].circle);
    assert_int_equal(waits[2].circle, waits[3].circle);
    assert_int_equal(waits[4].circle, waits[5].circle);
    assert_true(waits[2].circle != waits[4].circle && waits[4].circle >= 0);
    assert_int_equal(waits[6].behind, -1);
}

static void test_a_holder_that_is_gone(void **state)
{
    struct lock_wait waits[MOST];
    (void)state;
    size_t n = MAKE(waits, {10, 0}, {11, 10});
    waits[0].number = 99;
    assert_int_equal(lock_waits_join(waits, n), 0);
    assert_true(lock_wait_is_lost(&waits[0]));
    assert_false(lock_wait_is_lost(&waits[1]));
    assert_true(lock_waits_are_stuck(waits, n));
    waits[0].is_shared = true; /* its holder may be in another process */
    assert_false(lock_waits_are_stuck(waits, n));
    waits[0].is_shared = false;
    waits[0].kind = LOCK_ROBUST; /* the kernel gives it to the next one */
    assert_false(lock_waits_are_stuck(waits, n));
}

static bool is_on_circle(const struct edge *edges, size_t n, size_t first)
{
    int at = edges[first].holder;
    for (size_t hops = 0; hops < n; hops++) {
        size_t i = 0;
        if (at == edges[first].tid)
            return true;
        while (i < n && edges[i].tid != at)
            i++;
        if (i == n)
            return false;
        at = edges[i].holder;
    }
    return false;
}

/* Any graph, against a search from each thread of its own. */
static void test_any_graph(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct edge edges[MOST];
        struct lock_wait waits[MOST];
        size_t n = 1 + random_next(&random) % MOST, at_least = 0;
        for (size_t i = 0; i < n; i++)
            edges[i] =
                (struct edge){100 + 2 * (int)i, 99 + (int)(random_next(&random) % (2 * n + 2))};
        (void)make(waits, edges, n);
        unsigned circles = lock_waits_join(waits, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(waits[i].circle >= 0, is_on_circle(edges, n, i));
            assert_true(waits[i].circle < (int)circles && waits[i].behind < (int)circles);
            if (waits[i].circle >= 0) {
                assert_int_equal(waits[i].behind, waits[i].circle);
                assert_int_equal(waits[waits[i].next].circle, waits[i].circle);
            }
            at_least += waits[i].circle >= 0;
        }
        assert_true(circles <= at_least);
    }
}

/* As long as the most threads that are looked at: no recursion, and no square of them. */
static void test_a_long_circle(void **state)
{
    enum { LONG = 100000 };
    struct edge *edges = calloc(LONG, sizeof(*edges));
    struct lock_wait *waits = calloc(LONG, sizeof(*waits));
    (void)state;
    assert_true(edges && waits);
    for (int i = 0; i < LONG; i++)
        edges[i] = (struct edge){10 + i, 10 + (i + 1) % LONG};
    (void)make(waits, edges, LONG);
    assert_int_equal(lock_waits_join(waits, LONG), 1);
    assert_int_equal(waits[LONG / 2].circle, 0);
    free(edges);
    free(waits);
}

static void test_only_what_stood_still_is_confirmed(void **state)
{
    struct lock_wait then[MOST], now[MOST];
    (void)state;
    for (int changed = 0; changed < 6; changed++) {
        size_t n = MAKE(then, {10, 11}, {11, 10}, {20, 21}, {21, 20});
        (void)lock_waits_join(then, n);
        (void)MAKE(now, {10, 11}, {11, 10}, {20, 21}, {21, 20});
        switch (changed) {
        case 1:
            now[2].switches++;
            break;
        case 2:
            now[2].lock++;
            break;
        case 3:
            now[2].number++;
            break;
        case 4:
            then[2].kind = LOCK_NONE; /* it was not told how often it ran */
            break;
        default:
            break;
        }
        if (changed == 5)
            assert_true(lock_waits_confirm(then, 2, now, n)); /* two were not there */
        else
            assert_true(lock_waits_confirm(then, n, now, n));
        assert_true(now[0].circle >= 0 && now[1].circle >= 0);
        assert_int_equal(now[2].circle >= 0, changed == 0);
        assert_int_equal(now[3].circle >= 0, changed == 0);
    }
    (void)MAKE(then, {10, 11}, {11, 10});
    (void)MAKE(now, {10, 11}, {11, 12});
    assert_false(lock_waits_confirm(then, 2, now, 2));
    assert_false(lock_waits_confirm(then, 2, now, 0));
}

static struct diagnosis judge(struct lock_wait *waits, size_t n)
{
    static struct view_process process = {
        .pid = 7, .name = "trainer", .mask = -1, .parent_mask = -1, .cgroup = {-1, -1, -1, -1}};
    static struct host host;
    struct view view = {.wall_s = 5,
                        .processes = &process,
                        .nprocesses = 1,
                        .pressure_share = NAN,
                        .load = NAN,
                        .host = &host};
    struct diagnosis diagnosis = {0};
    struct err err;
    host = (struct host){.idle_exit_us = NAN, .locks = {.n = 1}};
    host.locks.stuck[0] =
        (struct lock_process){.pid = 7, .still_s = 4, .nwaits = n, .waits = waits};
    assert_int_equal(diagnosis_make(&view, &diagnosis, &err), 0);
    return diagnosis;
}

static void test_what_is_said(void **state)
{
    struct lock_wait waits[MOST];
    (void)state;
    size_t n = MAKE(waits, {10, 11}, {11, 10}, {12, 10});
    (void)lock_waits_join(waits, n);
    struct diagnosis diagnosis = judge(waits, n);
    assert_int_equal(diagnosis.n, 1);
    const struct finding *finding = &diagnosis.all[0].finding;
    assert_string_equal(finding->id, "deadlock");
    assert_string_equal(finding->subject, "trainer (7)");
    assert_string_equal(finding->evidence,
                        "none ran for 4.0 s; 10 -> 0x12c0 -> 11 -> 0x1280 -> 10");
    assert_string_equal(finding->command, "gdb -p 7 -batch -ex 'thread apply all bt'");
    assert_non_null(strstr(finding->sentence, "2 threads wait for each other, for 4.0 s so far: "
                                              "worker (10) waits for the lock at 0x12c0 of worker "
                                              "(11); worker (11) waits for the lock at 0x1280 of "
                                              "worker (10). 1 more thread waits behind."));
    assert_true(diagnosis_is_bad(&diagnosis));
    diagnosis_free(&diagnosis);

    n = MAKE(waits, {10, 0}, {11, 0});
    waits[0].number = waits[1].number = 99;
    (void)lock_waits_join(waits, n);
    diagnosis = judge(waits, n);
    assert_int_equal(diagnosis.n, 1);
    finding = &diagnosis.all[0].finding;
    assert_string_equal(finding->id, "lost_lock");
    assert_non_null(strstr(finding->sentence, "worker (10) waits for the lock at 0x1000, and its "
                                              "holder, thread 99, is not in this process"));
    assert_non_null(strstr(finding->sentence, "1 more thread waits behind."));
    diagnosis_free(&diagnosis);

    /* Another one waits for that which the kernel refused a lock. */
    n = MAKE(waits, {10, 10}, {11, 10});
    waits[0].kind = LOCK_REFUSED;
    (void)lock_waits_join(waits, n);
    diagnosis = judge(waits, n);
    assert_int_equal(diagnosis.n, 1);
    finding = &diagnosis.all[0].finding;
    assert_string_equal(finding->id, "deadlock");
    assert_non_null(
        strstr(finding->sentence, "worker (10) sleeps for ever, as the kernel refused"));
    assert_non_null(strstr(finding->sentence,
                           "; worker (11) waits for the lock at 0x1280 of worker "
                           "(10). This"));
    diagnosis_free(&diagnosis);
}

/* What is too long is cut, and what to do is still said. */
static void test_a_long_story_is_cut(void **state)
{
    struct edge edges[MOST];
    struct lock_wait waits[MOST];
    (void)state;
    for (int i = 0; i < MOST; i++)
        edges[i] = (struct edge){4000000 + i, 4000000 + (i + 1) % MOST};
    (void)make(waits, edges, MOST);
    (void)lock_waits_join(waits, MOST);
    for (int refused = 0; refused < 2; refused++) {
        if (refused) {
            waits[0].kind = LOCK_REFUSED;
            waits[0].holder = waits[0].tid;
            (void)lock_waits_join(waits, MOST);
        }
        struct diagnosis diagnosis = judge(waits, MOST);
        assert_int_equal(diagnosis.n, 1);
        const struct finding *finding = &diagnosis.all[0].finding;
        assert_non_null(strstr(finding->sentence, " .... This does not end by itself"));
        assert_non_null(strstr(finding->sentence, "then end the process."));
        assert_non_null(strstr(finding->evidence, " ..."));
        diagnosis_free(&diagnosis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_in_futex_is_read),
        cmocka_unit_test(test_other_calls_and_time_outs_are_left_out),
        cmocka_unit_test(test_broken_texts_are_refused_or_read),
        cmocka_unit_test(test_mutexes_name_their_holder),
        cmocka_unit_test(test_a_zero_on_its_own_stack_may_be_a_refusal),
        cmocka_unit_test(test_frames_of_one_function_are_alike),
        cmocka_unit_test(test_calls_are_known),
        cmocka_unit_test(test_status_files),
        cmocka_unit_test(test_circles_are_found),
        cmocka_unit_test(test_who_waits_for_one_that_runs_is_in_no_circle),
        cmocka_unit_test(test_those_behind_a_circle_are_no_part_of_it),
        cmocka_unit_test(test_a_holder_that_is_gone),
        cmocka_unit_test(test_any_graph),
        cmocka_unit_test(test_a_long_circle),
        cmocka_unit_test(test_only_what_stood_still_is_confirmed),
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_a_long_story_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
