/*
 * How many times a statistical test repeats its trial: `full` with CONTEND_TRIALS=full, as in
 * `./contend test --all`, else `few`, so that all such tests take seconds. Seeds are fixed, so a
 * test with either number always gives the same result. `few` is large enough to find the faults
 * that the test is for.
 */
#ifndef CONTEND_TESTS_LIB_TRIALS_H
#define CONTEND_TESTS_LIB_TRIALS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline unsigned trials(unsigned full, unsigned few)
{
    const char *said = getenv("CONTEND_TRIALS");
    return said && strcmp(said, "full") == 0 ? full : few;
}

/* Upper bound for the hits in n trials of probability `share`: three standard deviations of the
 * binomial, exceeded by chance in about one of a thousand tests. */
static inline unsigned trials_most(unsigned n, double share)
{
    return (unsigned)(n * share + 3 * sqrt(n * share * (1 - share)));
}

#endif
