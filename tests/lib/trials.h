/*
 * How many times a test of chance is repeated: `full` where CONTEND_TRIALS=full, as in
 * `./contend test --all`, else `few`, so that all of them take seconds. Seeds are fixed: either
 * number fails always or never. `few` is chosen so that the faults that the test is for still fail.
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

/* Hits of n trials that a chance of `share` exceeds about once in a thousand tests: three standard
 * deviations of the binomial. */
static inline unsigned trials_most(unsigned n, double share)
{
    return (unsigned)(n * share + 3 * sqrt(n * share * (1 - share)));
}

#endif
