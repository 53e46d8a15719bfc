/*
 * The data path of one training worker: preprocessed batches (batch.h) feed a device
 * (device/device.h). Up to `prefetch` batches are in flight while the next batch is made.
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
    bool in_order; /* a copy waits for the work on the previous batch; not an option of train */
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
/* Options of the device alone. */
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
 * For tables of metrics; feed_report emits them.
 * `sim_overshoot`: excess of the sleeps that model a GPU, over the time asked for, in measured
 * steps; no value if there were no sleeps, as on a GPU.
 * `buffer_on_node`: share of the pages of the device's host buffers on the NUMA node where the
 * worker's memory belongs; no value without such a node (memory_node_home) or if the system does
 * not tell.
 * `gpu_compute_share`, `gpu_memory_share`: float operations and bytes a second / the GPU's maximum
 * at its highest clocks, over the time that the GPU worked in measured steps. By the kernels'
 * formulas: each kernel reads its input and writes its output once; caches and matrix units do not
 * count. No value for a model.
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
 * Stages of a step, after those of enum prep_stage: for tables that begin with FEED_STAGES.
 * feed_step marks them if ctx has a stage clock. With prep=gpu, `read` is the only work on the CPU.
 * `submit` queues the batch, and includes the CPU's part of the copy if memory is not page-locked.
 * The CPU's wait for a batch is divided backwards from its end: first `kernel`, as long as the
 * device worked on the batch; before it `prepare`, as long as the device preprocessed the batch
 * (prep=gpu); before it `copy`, as long as the copy took. The rest is `wait`: the device worked on
 * other batches or for other processes, or the batch was done and this thread asleep or without a
 * CPU. Copies and work of the device while the CPU does something else are in no stage.
 */
enum feed_stage {
    FEED_READ = PREP_STAGES,
    FEED_SUBMIT,
    FEED_WAIT,
    FEED_COPY,
    FEED_PREPARE,
    FEED_KERNEL,
    FEED_OTHER,
    FEED_STAGES_COUNT
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
    uint64_t device_ns;          /* work of the device on batches of measured steps */
    uint64_t device_batches;     /* number of these batches */
    uint64_t submitted, retired; /* batches; batch k uses slot k % (prefetch + 1) */
    struct device_sleep slept;   /* in measured steps */
};

/* On ctx's device; publishes the raw data as ctx's buffer. -ENOTSUP, -ENODEV, -ENOMEM with why. */
int feed_open(struct feed *feed, const struct feed_params *params, struct bench_ctx *ctx);

/*
 * Preprocesses a batch, submits it and waits for the oldest batches until `prefetch` are in flight.
 * The caller calls stage_start before and marks FEED_OTHER after it.
 * Adds to the sample: 1 iter, ops = rows, bytes = 4 rows cols (copied to the device), device_ns =
 * time the device worked on the batches that were waited for.
 */
int feed_step(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx);

/* The two parts of feed_step: up to the submission, and the waiting. The caller may work while the
 * device does. */
int feed_submit(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx);
int feed_wait(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx);

/* Emits the FEED_METRICS, as batches_report does; nothing may be in flight. */
void feed_report(struct feed *feed, unsigned first_metric, struct bench_ctx *ctx);

/* Repeats one step over poisoned outputs and compares the host's and the device's results. */
int feed_check(struct feed *feed, const struct bench_ctx *ctx);

#endif
