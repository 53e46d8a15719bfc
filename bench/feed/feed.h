/*
 * The data path of one training worker: preprocessed batches (batch.h) that feed a device
 * (device/device.h), with up to `prefetch` of them in flight while the next is made.
 *
 *   struct feed feed = {0};
 *   rc = feed_open(&feed, &params, ctx);
 *   rc = feed_step(&feed, &sample, ctx); ...
 *   rc = feed_check(&feed, ctx->err);
 * bench_close closes it.
 */
#ifndef CONTEND_BENCH_FEED_FEED_H
#define CONTEND_BENCH_FEED_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/device/device.h"
#include "bench/feed/batch.h"

struct feed_params {
    struct batch_params batch;
    int64_t prefetch, gpu_work;
    int wait; /* FEED_WAIT_SPIN or FEED_WAIT_BLOCK */
    int prep; /* FEED_PREP_CPU or FEED_PREP_GPU */
    bool pinned;
    bool in_order; /* no option of train's: a copy waits for the work on the batch before */
    double sim_gbps, sim_work_us, sim_prep_us;
};

enum { FEED_PREP_CPU, FEED_PREP_GPU };
extern const char *const feed_preps[]; /* their names */

enum { FEED_WAIT_SPIN, FEED_WAIT_BLOCK };
extern const char *const feed_waits[]; /* their names */

/* For tables of structs that begin with a struct feed_params. */
/* clang-format off */
#define FEED_OPTS                                                                                  \
    BATCH_OPTS,                                                                                    \
    OPT_INT("prefetch", feed_params, prefetch, "0", 0, 8, "N",                                     \
            "batches in flight while the next is made; 0 waits"),                                  \
    FEED_DEVICE_OPTS
/* The device's alone. */
#define FEED_DEVICE_OPTS                                                                           \
    OPT_FLAG("pinned", feed_params, pinned, "1",                                                   \
             "1: copy from page-locked memory, 0: from ordinary memory"),                          \
    OPT_INT("gpu_work", feed_params, gpu_work, "2", 1, 100000, "N",                                \
            "passes of the GPU kernel over a batch"),                                              \
    OPT_CHOICE("wait", feed_params, wait, "block", feed_waits, "HOW",                              \
               "how to wait for the device, busy or asleep"),                                      \
    OPT_DOUBLE("sim_gbps", feed_params, sim_gbps, "25", 0.001, 1e6, "X",                           \
               "device sim: GB/s of its link (1e9 bytes)"),                                        \
    OPT_DOUBLE("sim_work_us", feed_params, sim_work_us, "200", 0.001, 1e7, "X",                    \
               "device sim: microseconds of one pass"),                                            \
    OPT_CHOICE("prep", feed_params, prep, "cpu", feed_preps, "WHERE",                              \
               "where batches are preprocessed; gpu: the CPU only copies them"),                   \
    OPT_DOUBLE("sim_prep_us", feed_params, sim_prep_us, "300", 0.001, 1e7, "X",                    \
               "device sim: microseconds of preprocessing a batch there")
/* clang-format on */

/*
 * For tables of metrics, and feed_report. `sim_overshoot`: of the sleeps that model a GPU, how much
 * longer than asked they were, over the measured steps; none where nobody slept, as on a GPU.
 * `buffer_on_node`: share of the pages of the device's host buffers on the node where the worker's
 * memory belongs; none where there is no such node (memory_node_home) or the system does not tell.
 * `gpu_compute_share`, `gpu_memory_share`: while the GPU worked in measured steps, float operations
 * and bytes a second by the kernels' formulas (each reads its input and writes its output once)
 * over what it can do at its highest clocks; caches and matrix units left out. None of a model.
 */
/* clang-format off */
#define FEED_METRICS                                                                               \
    BATCH_METRICS,                                                                                 \
    {"sim_overshoot", "ratio", "lower", .hidden = true,                                             \
     .footnote = "overshoot of the modelled GPU's sleeps"},                                         \
    {"buffer_on_node", "ratio", "higher", .hidden = true},                                          \
    {"gpu_compute_share", "ratio", "none", .hidden = true},                                         \
    {"gpu_memory_share", "ratio", "none", .hidden = true}
/* clang-format on */

/*
 * Stages of a step, behind those of enum prep_stage: for tables that begin with FEED_STAGES, and
 * marked by feed_step where ctx has a stage clock. `submit` is the handing over, with the CPU's
 * part of the copy where memory is not page-locked. The time in which the CPU then waits for a
 * batch is told apart from its end back: so long as the device worked on it is `kernel`, so long
 * before that as it preprocessed it `prepare` (prep=gpu, whose only work on the CPU is `read`), so
 * long before that as its copy took `copy`, and what is left is `wait`: the device was with other
 * batches or with others, or the batch was done and this thread asleep or without a CPU. Work that
 * is copied or computed while the CPU does something else is in none of them.
 */
enum feed_stage {
    FEED_READ = PREP_STAGES,
    FEED_SUBMIT,
    FEED_WAIT,
    FEED_COPY,
    FEED_PREPARE,
    FEED_KERNEL,
    FEED_OTHER,
    FEED_STAGES_MANY
};
/* clang-format off */
#define FEED_STAGES                                                                                \
    BENCH_STAGE("moments", STAGE_CPU),                                                             \
    BENCH_STAGE("transform", STAGE_CPU),                                                           \
    BENCH_STAGE("features", STAGE_CPU),                                                            \
    BENCH_STAGE("covariance", STAGE_CPU),                                                          \
    BENCH_STAGE("smooth", STAGE_CPU),                                                              \
    BENCH_STAGE("read", STAGE_CPU),                                                                \
    BENCH_STAGE("submit", STAGE_COPY),                                                             \
    BENCH_STAGE("wait", STAGE_WAIT),                                                               \
    BENCH_STAGE("copy", STAGE_COPY),                                                               \
    BENCH_STAGE("prepare", STAGE_GPU),                                                             \
    BENCH_STAGE("kernel", STAGE_GPU),                                                              \
    BENCH_STAGE("other", STAGE_OTHER)
/* clang-format on */

struct feed {
    struct batches batches;
    struct device_queue device;
    unsigned prefetch, work;
    bool raw;                    /* the device preprocesses */
    uint64_t device_ns;          /* that it worked on batches of measured steps .. */
    uint64_t device_batches;     /* .. and of how many */
    uint64_t submitted, retired; /* batches; batch k uses slot k % (prefetch + 1) */
    struct device_sleep slept;   /* in measured steps */
};

/* On ctx's device; publishes the raw data as ctx's buffer. -ENOTSUP, -ENODEV, -ENOMEM with why. */
int feed_open(struct feed *feed, const struct feed_params *params, struct bench_ctx *ctx);

/*
 * Preprocesses a batch, submits it and waits for the oldest ones until `prefetch` are in flight.
 * Between stage_start and a mark of FEED_OTHER, which are the caller's.
 * Adds to the sample: 1 iter, ops = rows, bytes = 4 rows cols, what is copied to the device,
 * device_ns = time the device worked on the batches that were waited for.
 */
int feed_step(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx);

/* The two parts of it, between which others may use the device's time: up to the submission, and
 * the waiting. */
int feed_submit(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx);
int feed_wait(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx);

/* Waits for the oldest batches until at most `in_flight` are left; adds to the sample's device_ns.
 */
int feed_drain(struct feed *feed, uint64_t in_flight, struct sample *sample,
               const struct bench_ctx *ctx);

/* Emits the FEED_METRICS, as batches_report does; nothing may be in flight. */
void feed_report(struct feed *feed, unsigned first_metric, struct bench_ctx *ctx);

/* Repeats one step over poisoned outputs and compares the host's and the device's results. */
int feed_check(struct feed *feed, const struct bench_ctx *ctx);

#endif
