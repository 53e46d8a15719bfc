/* A registry of benchmarks that misbehave on purpose; see fake_bench.c. */
#ifndef CONTEND_TESTS_LIB_FAKE_BENCH_H
#define CONTEND_TESTS_LIB_FAKE_BENCH_H

#include <sched.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/scenario.h"

extern const struct bench *const fake_registry[];
extern const struct scenario fake_scenarios[];

#endif
