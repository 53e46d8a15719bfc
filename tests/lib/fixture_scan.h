/* A worker's side of the contract for benchmarks that scan, on the CPUs of this process. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_SCAN_H
#define CONTEND_TESTS_LIB_FIXTURE_SCAN_H

#include "harness/contract/bench.h"

struct scan {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
    const struct bench *bench;
};

/* The allowed CPUs, each a core of its own, all under one 32 MiB L3, L2 of 2 MiB, L1 of 32 KiB. */
void scan_machine_init(struct bench_machine *machine);

/*
 * Probe, setup, scan and check, over device sim where it needs one; a failure of any fails the
 * test. `pairs` as `-p` gives them, ends with NULL. The values stay readable until the next scan;
 * scan_end tears down.
 */
void scan_run(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
              const char *const *pairs, double budget_s);
void scan_end(struct scan *scan);

/* The same without failing the test: what the first of them said that went wrong. Then scan_end. */
int scan_try(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
             const char *const *pairs, double budget_s);

/* -ENOTSUP and the like, from probe alone. */
int scan_probe(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
               const char *const *pairs);

/* Whether this user may have real-time priorities; the policy stays as it is. */
bool scan_may_be_fifo(void);

/* NaN where nothing was emitted under that metric and key; twice fails the test. */
double scan_value(const struct scan *scan, const char *metric, const char *key);

/* Why a value is absent, or what is doubted of it; NULL where it is well, or was never emitted. */
const char *scan_reason(const struct scan *scan, const char *metric, const char *key);

size_t scan_count(const struct scan *scan, const char *metric);

#endif
