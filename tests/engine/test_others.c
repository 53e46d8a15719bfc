/* Who else uses the CPUs during a run. */
#include "harness/engine/run.h"

#include <signal.h>
#include <sys/wait.h>

#include "harness/lib/sys/clock.h"
#include "tests/lib/unit.h"

/* As if the run had lasted a millisecond, and nobody had run before it: all CPU time counts. */
TEST(others_are_the_largest_and_not_ours)
{
    struct result result = {.nothers = 0};
    ENDED_BY(others_end) struct others others;
    const pid_t child = fork();
    if (!child) {
        for (uint64_t from_ns = clock_now_ns(); clock_now_ns() - from_ns < 100000000;)
            ;
        (void)pause();
    }
    (void)usleep(200000);
    others_begin(&others);
    bool any = false;
    for (unsigned i = 0; i < others.n; i++)
        any = any || others.before[i].cpu_s > 0.001;
    others.n = 0;
    others.at_ns = clock_now_ns() - 1000000;
    others_note(&others, &result);
    assert_true(result.nothers > 0 || !any);
    for (unsigned i = 0; i < result.nothers; i++) {
        assert_true(result.others[i].pid != getpid() && result.others[i].pid != child);
        assert_true(result.others[i].share >= RESULT_OTHERS_LEAST && result.others[i].command[0]);
        assert_true(!i || result.others[i].share <= result.others[i - 1].share);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* What was used before the run does not count. */
TEST(others_count_from_the_begin)
{
    struct result result = {.nothers = 0};
    ENDED_BY(others_end) struct others others;
    others_begin(&others);
    others.at_ns -= (uint64_t)1000 * 1000000000;
    others_note(&others, &result);
    assert_int_equal(result.nothers, 0);
}
