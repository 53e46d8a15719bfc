/*
 * Results made by hand, for tests of everything that reads what harness/engine/run.c makes. The
 * machine has FIXTURE_CPUS CPUs, the benchmark is fixture_bench, the device is `sim`.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_RESULT_H
#define CONTEND_TESTS_LIB_FIXTURE_RESULT_H

#include "harness/engine/result.h"
#include "harness/record/analysis.h"

enum { FIXTURE_CPUS = 8, FIXTURE_OPS = 100, FIXTURE_STEPS_MAX = 64 };

/* Has parameters rows=64 and cols=8, and 100 "items" a step. It cannot run. */
extern const struct bench fixture_bench;

/* For scans whose values a test makes by hand: emits nothing. */
int fixture_no_scan(struct bench_ctx *ctx);

/* Equal up to the rounding of a handful of floating-point operations. NaN is near nothing. */
#define assert_near(a, b) assert_true(fixture_near((a), (b), 1e-9))
bool fixture_near(double a, double b, double relative);

/* A result without arms: seed 1, three rounds planned and done. */
void fixture_result_init(struct result *result);
/* The bound for result.slo, parsed, valid until the next call: "p99<=20ms", or with of_alone
 * "a:rate 10%". NULL for NULL. */
const struct slo *fixture_slo(const char *text, bool of_alone);
void fixture_result_free(struct result *result);

/*
 * Adds an arm without observations and returns its index. `none` and `sized` plan all CPUs for
 * every worker, `same` the first slice, all others one slice each. A baseline is `alone`.
 */
size_t fixture_add_arm(struct result *result, enum placement placement, unsigned planned_workers,
                       bool alone);
/* Adds a background worker, planned as the arm's first one. The arm's rounds do not contain it. */
void fixture_add_background(struct result *result, size_t arm);
/* Gives the arm and each of its rounds so far that dose, held at the level `held`. */
void fixture_add_dose(struct result *result, size_t arm, struct dose dose, double held);
size_t fixture_add_skipped(struct result *result, enum placement placement,
                           unsigned planned_workers, const char *reason);

/*
 * Adds a round in which every worker did these steps, back to back from its go signal. Each step
 * has FIXTURE_OPS ops, and the device was busy for a quarter of it. Of the wall time 50% was on the
 * CPU, 30% in the run queue and 20% blocked. A step had 2 voluntary and 4 involuntary switches, 1
 * migration, 8 minor faults and 1000 instructions a thread. The pointer is valid until the arm's
 * next round.
 */
struct observation *fixture_add_round(struct result *result, size_t arm, unsigned round,
                                      const double *steps_ms, size_t nsteps);

/* A round of `nsteps` equal steps. */
struct observation *fixture_add_even_round(struct result *result, size_t arm, unsigned round,
                                           double step_ms, size_t nsteps);

/* Replaces one worker's steps and updates its usage. */
void fixture_set_steps(struct worker_result *worker, const double *steps_ms, size_t nsteps);

/* Splits the worker's wall time anew; the shares should add up to 1. */
void fixture_set_shares(struct worker_result *worker, double oncpu, double runqueue,
                        double blocked);

/* Makes the worker's last sample a lower bound, and marks worker and observation as censored. */
void fixture_censor(struct observation *observation, unsigned worker);

/* What a run prints at its end: the table, then the findings. The caller frees it. */
char *fixture_print(const struct result *result, bool color);

/*
 * A whole run of three rounds with 2 workers: `none` 240 ms a step, `same` 40, `sized` 24,
 * `partition` 20, `llc` skipped, and baselines alone: `none` 12 ms, `partition` 20 (shared by
 * `same`). 2% of jitter between the rounds. 82% of the loss of `none` is run queue.
 */
void fixture_demo(struct result *result);

/* The result of a TEST_OF_RESULT, empty at its begin, and what the test makes of it. */
extern struct by_hand {
    struct result result;
    struct analysis analysis;
} by_hand;
#define TEST_OF_RESULT(name) TEST_WITHIN(name, by_hand_begin, by_hand_end)
int by_hand_begin(void **state);
int by_hand_end(void **state);
/* Begins with an empty result once more. */
void by_hand_again(void);

/* Local variables that end with their block: such a result, and what is made of one. */
#define EMPTY_RESULT(name)                                                                         \
    ENDED_BY(fixture_result_free) struct result name;                                              \
    fixture_result_init(&name)
#define DEMO_RESULT(name)                                                                          \
    ENDED_BY(fixture_result_free) struct result name;                                              \
    fixture_demo(&name)
#define ANALYSED(name, result)                                                                     \
    AUTO(analysis) name;                                                                           \
    assert_int_equal(analysis_make(result, &(name), NULL), 0)
#define JUDGED(name, result)                                                                       \
    AUTO(verdict) name;                                                                            \
    assert_int_equal(verdict_make(result, NULL, &(name), NULL), 0)

#endif
