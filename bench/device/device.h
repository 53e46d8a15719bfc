/*
 * The device that a benchmark feeds: an in-order queue of batches in slots, on a GPU (`cuda`) or on
 * a model of one (`sim`). Both copy a batch in, then work on it; the copy of a batch overlaps the
 * work of the one before.
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

#include "bench/device/host_buffers.h"
#include "harness/contract/bench.h"
#include "harness/lib/base/err.h"
#include "kernels/prep/prep_gpu.h"

struct device_config {
    enum device kind;                    /* DEVICE_SIM or DEVICE_CUDA */
    const char *pci_bdf;                 /* of the GPU, cuda only; "" = the first */
    const struct bench_machine *machine; /* cuda only: its number, for messages */
    size_t rows, cols;                   /* of a batch of float */
    unsigned slots;                      /* >= 1 */
    unsigned work;                       /* passes over the batch, >= 1 */
    bool pinned;   /* host buffers page-locked (sim: copied by the device, not the CPU) */
    bool spin;     /* wait spins on the clock or the driver, else it sleeps */
    int os_node;   /* of the host buffers; -1 = where they are touched first */
    bool in_order; /* a copy waits for the work on the batch before, else they overlap */
    const struct prep_gpu_params
        *prep;          /* batches are raw: preprocess them there; NULL = they are not */
    double sim_prep_us; /* what that takes on the model */
    /* By slot, host buffers of the caller's: whole pages, until the close; the array only during
     * the open. NULL: the queue has its own. */
    float *const *host;
    double sim_gbps;    /* GB/s (1e9 bytes) of the model's link, > 0 */
    double sim_work_us; /* time of one of the model's passes, >= 0 */
};

struct device_queue;
struct reduce_ops;

/* Sums over the sleeps that a model makes in place of a GPU: what was asked for, and how much more
 * it was. A sleep ends late where a timer is, or where the sleeper then waits for a CPU. */
struct device_sleep {
    uint64_t asked_ns, over_ns;
};

/* Times of a batch on the device. */
struct device_took {
    uint64_t copy_ns; /* on its way there */
    uint64_t prep_ns; /* its preprocessing there */
    uint64_t work_ns; /* the work on it */
};

/* One kind of device. All but `probe` and `open` are called after a good open only. */
struct device_ops {
    int (*probe)(struct err *err); /* NULL = always there */
    int (*open)(struct device_queue *queue, const struct device_config *config, struct err *err);
    int (*submit)(struct device_queue *queue, unsigned slot, struct err *err);
    int (*wait)(struct device_queue *queue, unsigned slot, struct device_took *took,
                struct err *err);
    /* NULL where the device computes nothing: then there is nothing to check. */
    int (*poison)(struct device_queue *queue, struct err *err);
    int (*read)(struct device_queue *queue, size_t first, size_t count, float *rows,
                struct err *err);
    int (*read_prep)(struct device_queue *queue, const struct prep_gpu_arrays *arrays,
                     struct err *err);
    void (*peak)(const struct device_queue *queue, double *flops, double *bytes);
    struct device_sleep (*slept)(const struct device_queue *queue); /* NULL: it is no model */
    void (*close)(struct device_queue *queue);
    const struct reduce_ops *reduce; /* reduce.h: how workers on such devices sum a gradient */
};

/* NULL where nothing of that kind can be fed. */
const struct device_ops *device_ops_of(enum device kind);

struct device_queue {
    const struct device_ops *ops; /* NULL = closed */
    void *impl;                   /* the device's own */
    struct host_buffers host;
};

/* device_sim.c, device_cuda.c. Without CUDA in the build, the latter is -ENOTSUP. */
extern const struct device_ops device_sim_ops, device_cuda_ops;

/* -ENOTSUP with the reason where this program, on this machine, has no device of the kind. */
int device_probe(enum device kind, struct err *err);

/* -ENOTSUP, -ENODEV or -ENOMEM with the reason in err; the queue is closed then. */
int device_open(struct device_queue *queue, const struct device_config *config, struct err *err);

/* rows * cols floats. Where they are not page-locked, they are not touched yet. */
float *device_host_buffer(struct device_queue *queue, unsigned slot);

/* As host_buffers_share, of all slots: 1 where they are on the node asked for. */
double device_host_share(const struct device_queue *queue);

/* Queues the slot's batch. The buffer has to stay as it is until device_wait. */
int device_submit(struct device_queue *queue, unsigned slot, struct err *err);

/* Returns when the slot's batch is done. */
int device_wait(struct device_queue *queue, unsigned slot, struct device_took *took,
                struct err *err);

/* Sums over all waits so far; zeros where nobody slept, as on a GPU. */
struct device_sleep device_slept(const struct device_queue *queue);

/* True where the device computes a result: kernels/gpu/gpu_ref.h says which. */
bool device_computes(const struct device_queue *queue);

/* For checks, every slot idle: NaN over all device memory; rows of the last batch's result. */
int device_poison(struct device_queue *queue, struct err *err);
int device_read(struct device_queue *queue, size_t first, size_t count, float *rows,
                struct err *err);

/* The same of what that batch was preprocessed to, where the device does that and computes. */
int device_read_prep(struct device_queue *queue, const struct prep_gpu_arrays *arrays,
                     struct err *err);

/* Float operations and bytes of its memory a second that the device can do; 0 = unknown. */
void device_peak(const struct device_queue *queue, double *flops, double *bytes);

/* Waits for what is in flight and frees everything. */
void device_close(struct device_queue *queue);

#endif
