/*
 * Results that look like those of a real run, for tests of their readers: arms of several
 * placements and their baselines, steps with spread, usage whose parts add up, CPU samples.
 * Deterministic. The numbers follow METHOD.md's "Traps seen on real machines".
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_PLOTS_H
#define CONTEND_TESTS_LIB_FIXTURE_PLOTS_H

#include "harness/engine/result.h"

struct fixture_machine {
    unsigned cpus;
    unsigned workers[4]; /* numbers of workers to measure; 0 ends the list */
    unsigned rounds;
    const enum placement *placements;
    size_t nplacements;
    double alone_s;    /* step time of one worker alone on its slice */
    double collapse;   /* how many times slower `none` is than `partition` */
    bool cut_off;      /* steps of `none` are cut at the limit: censored */
    bool no_schedstat; /* run-queue wait is unknown */
    double steal;      /* share of the CPU time */
    enum device device;
    const char *skip_reason; /* why the last placement is skipped; NULL = it is measured */
};

/* Free with fixture_plots_free. Aborts when out of memory. */
void fixture_plots_make(const struct fixture_machine *machine, struct result *result);
void fixture_plots_free(struct result *result);

#endif
