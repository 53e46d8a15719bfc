/* A worker's side of the contract for benchmarks that scan, on the CPUs of this process. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_SCAN_H
#define CONTEND_TESTS_LIB_FIXTURE_SCAN_H

#include "harness/engine/contract/bench.h"

struct scan {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
    const struct bench *bench;
};

/* The allowed CPUs, each as a core of its own, all under one L3 of 32 MiB, with an L2 of 2 MiB and
 * an L1 of 32 KiB. */
void scan_machine_init(struct bench_machine *machine);

/* `machine` as above, for all tests of a file. */
#define ON_THIS_MACHINE                                                                            \
    static struct bench_machine machine;                                                           \
    BEFORE_TESTS                                                                                   \
    {                                                                                              \
        scan_machine_init(&machine);                                                               \
        return 0;                                                                                  \
    }

/*
 * Probe, setup, scan and check, over device sim if the benchmark needs one. Any failure fails the
 * test. `pairs` are as for `-p` and end with NULL. The values stay readable until the next scan;
 * scan_end tears down.
 */
void scan_run(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
              const char *const *pairs, double budget_s);
void scan_end(struct scan *scan);

/* The same without failing the test: returns the first error. Call scan_end afterwards. */
int scan_try(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
             const char *const *pairs, double budget_s);

/* Runs probe alone and returns its result, such as -ENOTSUP. */
int scan_probe(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
               const char *const *pairs);

/* True if this user may have real-time priorities; the policy does not change. */
bool scan_may_be_fifo(void);

/* NaN if no value has that metric and key; two such values fail the test. */
double scan_value(const struct scan *scan, const char *metric, const char *key);

/* The reason why a value is absent or in doubt; NULL if it is neither, or was never emitted. */
const char *scan_reason(const struct scan *scan, const char *metric, const char *key);

/* True if the reason of any value contains the text. */
bool scan_has_reason(const char *text);

size_t scan_count(const struct scan *scan, const char *metric);

#endif
