/*
 * Simulated runs of which the truth is known. Runs, and rounds within them, vary as real ones do,
 * so tests can prove what is concluded from runs. The same seed gives the same runs on every
 * machine.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_SIM_H
#define CONTEND_TESTS_LIB_FIXTURE_SIM_H

#include "harness/record/analysis.h"

/* Rounds of a run; fewer than STATS_RANGE_BELOW, so the interval over rounds is their range. */
enum { SIM_ROUNDS = 5 };

/* Spreads of the logarithm of the step time: 0.03 is 3%. */
struct sim {
    unsigned arms, rounds;
    double run_sd; /* between runs */
    double common; /* share of that variance that all arms of a run have in common */
    double round_sd;
    double rho;        /* autocorrelation of successive rounds */
    double heavy;      /* share of rounds that take up to 4 times as long */
    double mode;       /* added to runs in the second mode .. */
    double mode_share; /* .. and the share of such runs */
    double drift;      /* added from each run to the next */
};

/* A normal deviate (Box and Muller 1958), and a uniform one in (0, 1). */
double sim_normal(uint64_t *state);
double sim_uniform(uint64_t *state);

/* Step times of one arm in the rounds of a run, around `log_time`. */
void sim_rounds(const struct sim *sim, uint64_t *state, double log_time, double *times);

struct sim_run {
    struct result result;
    struct analysis analysis; /* has rows "throughput" and "step_time", but no values */
};

/*
 * A run of the benchmark fixture_bench with an arm for each placement; `run` is its number within
 * its side. The first `slowed` arms take longer by the factor `slower`. Free with sim_run_free.
 */
void sim_run_make(const struct sim *sim, uint64_t *state, unsigned run, unsigned slowed,
                  double slower, struct sim_run *made);
void sim_run_free(struct sim_run *run);

#endif
