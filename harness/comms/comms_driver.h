/*
 * Asks NVIDIA's driver for `contend comms`, in a separate process and with a time limit: NVML has
 * been seen not to answer after a program, and a monitor must not hang.
 */
#ifndef CONTEND_COMMS_COMMS_DRIVER_H
#define CONTEND_COMMS_COMMS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"
#include "harness/machine/gpu_links.h"
#include "harness/machine/nvlink.h"

struct comms_driver {
    bool answered;
    struct process process; /* that asked; zeroed = none */
    struct nvlink_counts counts;
    struct err why; /* with a code if there are no counts */
    size_t nlinks;
    struct gpu_link link[2048];
};

/*
 * If there are counts, the process that asked stays until comms_driver_free and keeps the GPUs
 * open: without persistence mode the driver releases a GPU with its last user, and its counters
 * begin at 0 again. Returns NULL after an error, with a message: -ENOMEM, -ETIMEDOUT, -EIO (the
 * process that asked crashed), or that of starting a process.
 */
struct comms_driver *comms_driver_ask(struct err *err);

/*
 * Whether NCCL may be asked for the graphs of communicators (NCCL_GRAPH_DUMP_FILE): only with up to
 * 16 GPUs on one machine. Before 2.29.7 NCCL has room for 4,096 elements in all graphs, and each
 * GPU in each channel of each graph takes one. An element without room is an error that ends the
 * program (src/graph/search.cc, ncclTopoDumpGraphs; src/init.cc). If NVLink leaves the machine, a
 * graph has the GPUs of all machines.
 */
bool comms_driver_allows_graphs(const struct comms_driver *driver);

/*
 * Writes into the directory, beside the logs: how NVLink's counters changed since *before, or why
 * that is unknown, and links.csv. If `before` is NULL, err has the reason. Overwrites err.
 */
void comms_driver_write(const char *directory, const struct comms_driver *before, struct err *err);

/* NULL is allowed. */
void comms_driver_free(struct comms_driver *driver);

#endif
