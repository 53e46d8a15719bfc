/*
 * Ranks as threads of this process, over an engine in memory. The engine does every operation by
 * its definition, takes the time that a test sets, and computes wrong results on request.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_COLLECTIVE_H
#define CONTEND_TESTS_LIB_FIXTURE_COLLECTIVE_H

#include "bench/collective/collective.h"

enum { FAKE_RANKS = 128, FAKE_RUNS = 4096 };

struct fake_world {
    /* Input. All zero = two or more ranks without faults, whose operations take no time. */
    unsigned processes, local; /* 0 = 1 */
    double budget_s;
    double each_us[FAKE_RANKS]; /* time of an operation */
    double bytes_per_us;        /* adds to each_us; 0 = infinitely fast */
    unsigned batch;
    size_t room_bytes; /* most bytes that buffers get; 0 = no limit */
    int slow_rank;     /* arrives 40 us late at every operation; -1 = none */
    int wrong_rank;    /* gets one wrong element; -1 = none */
    enum collective_op wrong_op;
    int probe_fails, open_fails; /* the process where it fails; -1 = none */
    const char *const *pairs;    /* parameters; ends with NULL */
    /* Output, by process. */
    struct fake_outcome {
        int probe, setup, run, check;
        struct err err;
        struct value_log *values;
        uint64_t iters[FAKE_RUNS]; /* iterations of each run call */
        unsigned nruns, ntimed, nchecks;
        unsigned timed[FAKE_RUNS];
    } outcome[FAKE_RANKS];
};

/* Ends the world that it was before; zeroed = none. */
void fake_world_init(struct fake_world *world, unsigned processes, const char *const *pairs);

/* Probe, setup, run, check and teardown in all processes at once. */
void fake_world_run(struct fake_world *world);

/* A value that process 0 emitted; NaN if there is none. */
double fake_value(const struct fake_world *world, const char *metric, const char *key);
size_t fake_count(const struct fake_world *world, const char *metric);

#endif
