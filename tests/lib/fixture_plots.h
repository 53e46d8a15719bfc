/*
 * Results that look like those of a real run, for tests of what reads them: arms of several
 * placements and their baselines, steps with spread, usage whose parts add up, CPU marks.
 * Deterministic. The figures behind the shape are METHOD.md's "Traps seen on real machines".
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_PLOTS_H
#define CONTEND_TESTS_LIB_FIXTURE_PLOTS_H

#include "harness/engine/arms/result.h"

struct fixture_machine {
    unsigned cpus;
    unsigned workers[4]; /* numbers of workers to measure; 0 ends */
    unsigned rounds;
    const enum placement *placements;
    size_t nplacements;
    double alone_s;    /* step of one worker alone on its slice */
    double collapse;   /* how many times slower `none` is than `partition` */
    bool cut_off;      /* steps of `none` end at the limit: censored */
    bool no_schedstat; /* the wait in the run queue is unknown */
    double steal;      /* share of the CPU time */
    enum device device;
    const char *skip_reason; /* of the last placement; NULL = it is measured */
};

/* The next random number in [0, 1), the same everywhere. */
double fixture_uniform(uint64_t *state);

/* Free with fixture_plots_free. Out of memory aborts. */
void fixture_plots_make(const struct fixture_machine *machine, struct result *result);
void fixture_plots_free(struct result *result);

#endif
