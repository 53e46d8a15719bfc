/* This machine's GPUs, for tests of benchmarks on them. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_GPU_H
#define CONTEND_TESTS_LIB_FIXTURE_GPU_H

#include "harness/contract/bench.h"

/*
 * Fills the machine with the CPUs of scan_machine_init and the GPUs that CUDA shows; returns the
 * number of GPUs. If 0, it says so on stdout, so that a test can end with 77.
 */
unsigned fixture_find_gpus(struct bench_machine *machine);

#endif
