/*
 * Runs that were never measured, with the truth known: what separate runs and the rounds within
 * them vary by, as real ones do. For proofs of what is concluded from runs. The same seed gives the
 * same runs on every machine.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_SIM_H
#define CONTEND_TESTS_LIB_FIXTURE_SIM_H

#include "harness/rows/analysis.h"

/* Of runs; fewer than STATS_RANGE_BELOW, so that the interval over rounds is their range. */
enum { SIM_ROUNDS = 5 };

/* All of them of the logarithm of the time of a step: 0.03 is 3%. */
struct sim {
    unsigned arms, rounds;
    double run_sd; /* between runs */
    double common; /* share of that variance that all arms of a run have in common */
    double round_sd;
    double rho;        /* autocorrelation between a round and the next */
    double heavy;      /* share of rounds that take up to 4 times as long */
    double mode;       /* what runs in the other mode have on top .. */
    double mode_share; /* .. and how many of them are in it */
    double drift;      /* from each run to the next */
};

/* A normal deviate (Box and Muller 1958), and a uniform one in (0, 1). */
double sim_normal(uint64_t *state);
double sim_uniform(uint64_t *state);

/* Times of the steps of a run's rounds around `log_time`, of one arm. */
void sim_rounds(const struct sim *sim, uint64_t *state, double log_time, double *times);

struct sim_run {
    struct result result;
    struct analysis analysis; /* without values; its rows are "throughput" and "step_time" */
};

/*
 * A run of the benchmark fixture_bench, an arm a placement; run number `run` of its side. The times
 * of the first `slowed` arms are longer by the factor `slower`. Free with sim_run_free.
 */
void sim_run_make(const struct sim *sim, uint64_t *state, unsigned run, unsigned slowed,
                  double slower, struct sim_run *made);
void sim_run_free(struct sim_run *run);

#endif
