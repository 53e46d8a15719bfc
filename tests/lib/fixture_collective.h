/*
 * Ranks in threads of this process over an engine made of memory: it does every operation by its
 * definition, takes the time that it is told, and can be told to do wrong.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_COLLECTIVE_H
#define CONTEND_TESTS_LIB_FIXTURE_COLLECTIVE_H

#include "bench/collective/collective.h"

enum { FAKE_RANKS = 128, FAKE_RUNS = 4096 };

struct fake_world {
    /* What to be; zeroed = two or more good ranks that take no time. */
    unsigned processes, local; /* 0 = 1 */
    double budget_s;
    double each_us[FAKE_RANKS]; /* of an operation */
    double bytes_per_us;        /* on top; 0 = infinitely many */
    unsigned batch;
    size_t room_bytes; /* 0 = all that is asked for */
    int slow_rank;     /* comes last to every operation by 40 us; -1 = none */
    int wrong_rank;    /* gets one wrong element; -1 = none */
    enum collective_op wrong_op;
    int probe_fails, open_fails; /* on that process; -1 = nowhere */
    const char *const *pairs;    /* parameters, ends with NULL */
    /* What came of it, by process. */
    struct fake_outcome {
        int probe, setup, run, check;
        struct err err;
        struct value_log *values;
        uint64_t iters[FAKE_RUNS]; /* of every run call */
        unsigned nruns, ntimed, nchecks;
        unsigned timed[FAKE_RUNS];
    } outcome[FAKE_RANKS];
};

void fake_world_init(struct fake_world *world, unsigned processes, const char *const *pairs);

/* probe, setup, run, check and teardown in all processes at once. */
void fake_world_run(struct fake_world *world);
void fake_world_free(struct fake_world *world);

/* Of process 0; NaN where there is no such value. */
double fake_value(const struct fake_world *world, const char *metric, const char *key);
size_t fake_count(const struct fake_world *world, const char *metric);

#endif
