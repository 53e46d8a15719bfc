/*
 * The device that a benchmark feeds: an in-order queue of batches in slots, on a GPU (`cuda`) or on
 * a model of a GPU (`sim`). Both copy a batch in, then work on it; the copy of a batch overlaps the
 * work on the batch before.
 *
 *   struct device_queue queue;
 *   rc = device_open(&queue, &config, err);
 *   fill device_host_buffer(&queue, slot); device_submit(&queue, slot, err);
 *   ...; device_wait(&queue, slot, &took, err);
 *   device_close(&queue);       also after a failed open; a zeroed queue is a closed one
 *
 * A queue belongs to one thread. A slot is filled, submitted, waited for, then filled again.
 */
#ifndef CONTEND_BENCH_DEVICE_DEVICE_H
#define CONTEND_BENCH_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "harness/engine/contract/bench.h"
#include "harness/lib/err.h"
#include "kernels/collective/collective_call.h"
#include "kernels/prep/prep_gpu.h"

/*
 * The memory in which batches are made and from which they are copied: one mapping per slot, bound
 * to a NUMA node, and checked afterwards. A zeroed struct is closed.
 */
struct host_buffers {
    unsigned n;
    int os_node; /* -1: not bound */
    bool borrowed;
    struct memory_block *block;
};

float *host_buffers_at(const struct host_buffers *buffers, unsigned slot);

struct device_config {
    enum device kind;                    /* DEVICE_SIM or DEVICE_CUDA */
    const char *pci_bdf;                 /* of the GPU, cuda only; "" = the first */
    const struct bench_machine *machine; /* cuda only: provides the GPU's number for messages */
    size_t rows, cols;                   /* of a batch of float */
    unsigned slots;                      /* >= 1 */
    unsigned work;                       /* passes over the batch, >= 1 */
    bool pinned;   /* host buffers page-locked (sim: copied by the device, not the CPU) */
    bool spin;     /* wait spins on the clock or the driver; else it sleeps */
    int os_node;   /* of the host buffers; -1 = the node of the first touch */
    bool in_order; /* a copy waits for the work on the batch before; else both overlap */
    const struct prep_gpu_params
        *prep;          /* batches are raw: preprocess on the device; NULL = no preprocessing */
    double sim_prep_us; /* time of that on the model */
    /* By slot, the caller's host buffers: whole pages, valid until close; the array only during
     * open. NULL: the queue has buffers of its own. */
    float *const *host;
    double sim_gbps;    /* GB/s (1e9 bytes) of the model's link, > 0 */
    double sim_work_us; /* time of one pass on the model, >= 0 */
};

struct device_queue;
struct reduce_ops;

/* Sums over the sleeps that a model makes in place of a GPU: the time asked for, and the excess. A
 * sleep ends late if the timer is late, or if the thread then waits for a CPU. */
struct device_sleep {
    uint64_t asked_ns, over_ns;
};

/* Times of a batch on the device. */
struct device_took {
    uint64_t copy_ns; /* to the device */
    uint64_t prep_ns; /* preprocessing on the device */
    uint64_t work_ns; /* work on the batch */
};

/* One kind of device. All but `probe` and `open` are called only after a successful open. */
struct device_ops {
    int (*probe)(struct err *err); /* NULL = always available */
    int (*open)(struct device_queue *queue, const struct device_config *config, struct err *err);
    int (*submit)(struct device_queue *queue, unsigned slot, struct err *err);
    int (*wait)(struct device_queue *queue, unsigned slot, struct device_took *took,
                struct err *err);
    /* NULL if the device computes nothing: there is nothing to check. */
    int (*poison)(struct device_queue *queue, struct err *err);
    int (*read)(struct device_queue *queue, size_t first, size_t count, float *rows,
                struct err *err);
    int (*read_prep)(struct device_queue *queue, const struct prep_gpu_arrays *arrays,
                     struct err *err);
    void (*peak)(const struct device_queue *queue, double *flops, double *bytes);
    struct device_sleep (*slept)(const struct device_queue *queue); /* NULL: not a model */
    void (*close)(struct device_queue *queue);
    const struct reduce_ops *reduce; /* device.h: the collectives of workers on such devices */
};

struct device_queue {
    const struct device_ops *ops; /* NULL = closed */
    void *impl;                   /* owned by the device */
    struct host_buffers host;
};

/* device_sim.c, device_cuda.c. Without CUDA in the build, the latter is -ENOTSUP. */
extern const struct device_ops device_sim_ops, device_cuda_ops;

/* -ENOTSUP with the reason if this program has no device of the kind on this machine. */
int device_probe(enum device kind, struct err *err);

/* -ENOTSUP, -ENODEV or -ENOMEM with the reason in err; the queue is closed then. */
int device_open(struct device_queue *queue, const struct device_config *config, struct err *err);

/* rows * cols floats. Not touched yet, unless page-locked. */
float *device_host_buffer(struct device_queue *queue, unsigned slot);

/* As host_buffers_share, over all slots: 1 if all pages are on the requested node. */
double device_host_share(const struct device_queue *queue);

/* Queues the slot's batch. The buffer must not change until device_wait. */
int device_submit(struct device_queue *queue, unsigned slot, struct err *err);

/* Returns when the slot's batch is done. */
int device_wait(struct device_queue *queue, unsigned slot, struct device_took *took,
                struct err *err);

/* Sums over all waits so far; zeros if no wait slept, as on a GPU. */
struct device_sleep device_slept(const struct device_queue *queue);

/* True if the device computes a result: kernels/gpu/gpu_ref.h defines it. */
bool device_computes(const struct device_queue *queue);

/* For checks, with every slot idle: fills all device memory with NaN; reads rows of the last
 * batch's result. */
int device_poison(struct device_queue *queue, struct err *err);
int device_read(struct device_queue *queue, size_t first, size_t count, float *rows,
                struct err *err);

/* Reads the last batch's preprocessed values, if the device preprocesses and computes. */
int device_read_prep(struct device_queue *queue, const struct prep_gpu_arrays *arrays,
                     struct err *err);

/* Peak float operations and memory bytes per second of the device; 0 = unknown. */
void device_peak(const struct device_queue *queue, double *flops, double *bytes);

/* Waits for batches in flight and frees everything. */
void device_close(struct device_queue *queue);

/*
 * The collectives of a training step, one after the other, among the workers of a role: all-reduce,
 * reduce-scatter and all-gather of floats. On `cuda` by NCCL (kernels/collective/gpu_collective.h)
 * on a separate stream, on `sim` by a model.
 *
 *   struct reduce reduce = {0};
 *   rc = reduce_open(&reduce, &config, ctx);      all ranks together
 *   rc = reduce_start(&reduce, &arrived_ns, err);                in every step; returns at once
 *   rc = reduce_finish(&reduce, err);                         returns when all are done
 *   rc = reduce_check(&reduce, err);
 *   reduce_close(&reduce);              also after a failed open; a zeroed one is closed
 *
 * All ranks make the same calls in the same order. A rank waits without limit for a rank that does
 * not arrive: the harness ends the waiting ranks.
 */
struct reduce_config {
    enum device kind;                    /* DEVICE_SIM or DEVICE_CUDA */
    const struct collective_call *calls; /* [ncalls], borrowed until close */
    size_t ncalls;                       /* at least one */
    bool spin;                           /* sim: wait for the rings on the clock, else asleep */
    double sim_gbps; /* sim: GB/s (1e9 bytes) that each rank sends to the next */
};

struct reduce;

struct reduce_ops {
    /* Called by each rank independently; NULL = always possible. */
    int (*probe)(const struct bench_ctx *ctx);
    int (*open)(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx);
    int (*start)(struct reduce *reduce, uint64_t *arrived_ns, struct err *err);
    int (*finish)(struct reduce *reduce, struct err *err);
    int (*check)(struct reduce *reduce, struct err *err); /* NULL = no result to check */
    void (*close)(struct reduce *reduce);
};

struct reduce {
    const struct reduce_ops *ops; /* NULL = closed */
    struct peers *peers;
    const struct collective_call *calls;
    size_t ncalls;
    void *impl;
};

/* device_sim.c, reduce_cuda.c. Without CUDA in the build, the latter is -ENOTSUP. */
extern const struct reduce_ops reduce_sim_ops, reduce_cuda_ops;

/* -ENOTSUP with the reason: no library, or fewer GPUs than ctx->planned_workers. */
int reduce_probe(const struct bench_ctx *ctx);

int reduce_open(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx);

/*
 * Starts the collectives of a step. *arrived_ns is the time of this rank's arrival (clock_now_ns);
 * on cuda the time when its first launch returns.
 */
int reduce_start(struct reduce *reduce, uint64_t *arrived_ns, struct err *err);

/* Returns when the started collectives are done. */
int reduce_finish(struct reduce *reduce, struct err *err);

/* Runs each kind and size once more on known numbers; -EBADMSG if a result is wrong. */
int reduce_check(struct reduce *reduce, struct err *err);

void reduce_close(struct reduce *reduce);

#endif
