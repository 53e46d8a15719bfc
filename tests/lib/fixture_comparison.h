/* A comparison of a metric that gates; it is 25% slower, verdict SLOWER. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_COMPARISON_H
#define CONTEND_TESTS_LIB_FIXTURE_COMPARISON_H

#include "harness/verdict/comparison.h"

extern const struct comparison fixture_slower;

#endif
