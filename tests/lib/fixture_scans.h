/*
 * Results of scans that look like those of real machines, for tests of their readers. Metrics and
 * keys are those of bench/. Deterministic. Each benchmark has one arm, but loaded_latency has two,
 * and collective may have more.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_SCANS_H
#define CONTEND_TESTS_LIB_FIXTURE_SCANS_H

#include "harness/engine/result.h"

struct fixture_scan_machine {
    unsigned cpus;
    unsigned siblings; /* CPU c shares a core with c + siblings, independent of sysfs; 0 = no SMT */
    unsigned nodes;    /* 1: numa_matrix is skipped */
    unsigned rounds;
    unsigned gpus; /* 0: no scans of GPUs */
    /* Collective has an arm for each placement and one without load, each at queue=1 and
     * queue=20. */
    const enum placement *placements;
    size_t nplacements;
};

/* A VM with one node and hidden SMT siblings, a server with four nodes, a server with four GPUs. */
extern const struct fixture_scan_machine fixture_vm, fixture_server, fixture_gpus;

/*
 * The arms of the benchmarks in `only`, a blank-separated list; NULL = all. Free with
 * fixture_result_free.
 */
void fixture_scans_make(const struct fixture_scan_machine *machine, const char *only,
                        struct result *result);

#endif
