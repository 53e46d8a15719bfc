/* The number of rounds when time is short. No arm runs; the hook takes the time. */
#include "harness/engine/run.h"
#include "tests/lib/unit.h"

#include <time.h>

enum { ROUNDS = 40, LEAST = 3, HOOK_MS = 5 };

static int on_round(void *arg, unsigned round, struct err *err)
{
    unsigned *rounds = arg;
    const struct timespec ts = {.tv_nsec = HOOK_MS * 1000000L};
    ++*rounds;
    return nanosleep(&ts, NULL);
}

static unsigned measure(unsigned least, double rounds_s, double most_s, struct result *result)
{
    unsigned rounds = 0;
    struct signals signals = {0};
    const struct observe_config config = {.run = result};
    const struct run_hooks hooks = {.on_round = on_round, .arg = &rounds};
    *result = (struct result){.rounds_planned = ROUNDS,
                              .rounds_least = least,
                              .rounds_s = rounds_s,
                              .rounds_most_s = most_s,
                              .until_clear = most_s > 0,
                              .seed = 1};
    assert_int_equal(run_rounds(&config, &hooks, &signals, result, NULL), 0);
    assert_int_equal(result->rounds_done, rounds);
    assert_int_equal(result->rounds_planned, rounds);
    return rounds;
}

TEST(run_rounds_are_all_measured)
{
    struct result result;
    assert_int_equal(measure(LEAST, 0, 0, &result), ROUNDS);
    assert_int_equal(measure(LEAST, 3600, 0, &result), ROUNDS);
    assert_int_equal(measure(ROUNDS, 1e-6, 0, &result), ROUNDS);
}

/* However slow the machine, the minimum of rounds runs; further rounds only if time is left. */
TEST(run_rounds_that_take_too_long_are_fewer)
{
    struct result result;
    assert_int_equal(measure(LEAST, 1e-6, 0, &result), LEAST);
    unsigned some = measure(LEAST, ROUNDS * HOOK_MS * 1e-3 / 2, 0, &result);
    assert_in_range(some, LEAST, ROUNDS - 1);
}

/* An emulated machine takes minutes for a round. */
TEST(run_ends_before_the_minimum_on_a_very_slow_machine)
{
    struct result result;
    assert_int_equal(measure(LEAST, 1e-6, 1e-6, &result), 1);
    assert_int_equal(measure(LEAST, 1e-6, 3600, &result), LEAST);
}
