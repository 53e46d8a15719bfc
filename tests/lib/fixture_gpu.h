/* This machine's GPUs, for tests of benchmarks on them. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_GPU_H
#define CONTEND_TESTS_LIB_FIXTURE_GPU_H

#include "harness/engine/contract/bench.h"

/*
 * Fills the machine with the CPUs of scan_machine_init and the GPUs that CUDA shows; returns the
 * number of GPUs. If 0, it says so on stdout, so that a test can end with 77.
 */
unsigned fixture_find_gpus(struct bench_machine *machine);

/* `machine` with these GPUs, for all tests of a file. */
#define ON_GPUS                                                                                    \
    static struct bench_machine machine;                                                           \
    BEFORE_TESTS                                                                                   \
    {                                                                                              \
        return fixture_find_gpus(&machine) ? 0 : UNIT_SKIPPED;                                     \
    }

#endif
