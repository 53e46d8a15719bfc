/*
 * Results of scans that look like those of real machines, for tests of what reads them: metrics and
 * keys are those of bench/. Deterministic. One arm a benchmark, but loaded_latency has two, and
 * collective may have more.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_SCANS_H
#define CONTEND_TESTS_LIB_FIXTURE_SCANS_H

#include "harness/engine/arms/result.h"

struct fixture_scan_machine {
    unsigned cpus;
    unsigned siblings; /* CPU c shares a core with c + siblings, whatever the system says; 0 = no */
    unsigned nodes;    /* 1: numa_matrix is skipped */
    unsigned rounds;
    unsigned gpus; /* 0: no scans of GPUs */
    /* Of collective an arm each, beside one without load, of one operation a time and of 20. */
    const enum placement *placements;
    size_t nplacements;
};

/* A VM with one node and hidden SMT siblings, a server with four nodes, one with four GPUs. */
extern const struct fixture_scan_machine fixture_vm, fixture_server, fixture_gpus;

/*
 * The arms of the benchmarks named in `only` (a list with blanks); NULL = all. Free with
 * fixture_result_free.
 */
void fixture_scans_make(const struct fixture_scan_machine *machine, const char *only,
                        struct result *result);

#endif
