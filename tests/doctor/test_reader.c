/* What the reader sees of processes of this machine. */
#include "harness/doctor/reader.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t start(void (*act)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(180);
        for (;;)
            act();
    }
    return child;
}

static void compute(void)
{
    static volatile unsigned long sink;
    sink++;
}

static void sleep_on(void)
{
    (void)pause();
}

static void end(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* It is known where others may run that did, and nothing is asked of those that slept. */
static void test_reader_masks_of_others_that_ran(void **state)
{
    struct reader reader;
    struct err err;
    const struct view_process *one;
    int tries = 0;
    (void)state;
    pid_t busy = start(compute), asleep = start(sleep_on);
    assert_int_equal(reader_open("", &reader, &err), 0);
    assert_int_equal(reader_mark(&reader, &err), 0);
    do {
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        assert_int_equal(reader_tick(&reader, READER_WHOLE, &err), 0);
        one = view_find(&reader.view, busy);
        assert_non_null(one);
        assert_false(one->watched);
    } while (one->mask < 0 && tries++ < 600);
    assert_true(one->mask >= 0);
    one = view_find(&reader.view, asleep);
    assert_non_null(one);
    assert_int_equal(one->mask, -1);
    reader_close(&reader);
    end(busy);
    end(asleep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_masks_of_others_that_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
