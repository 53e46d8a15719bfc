/*
 * What NVIDIA's driver tells `contend comms`, asked by a process of its own in a box of time: NVML
 * has been seen not to answer behind a program, and a monitor waits for nobody.
 */
#ifndef CONTEND_COMMS_CMD_COMMS_DRIVER_H
#define CONTEND_COMMS_CMD_COMMS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"
#include "harness/lib/sys/process.h"
#include "harness/machine/gpu/links.h"
#include "harness/machine/gpu/nvlink.h"

struct comms_driver {
    bool answered;
    struct process process; /* that has asked, where it stays; zeroed = none */
    struct nvlink_counts counts;
    struct err why; /* with a code where there are no counts */
    size_t nlinks;
    struct gpu_link link[2048];
};

/*
 * Where something was counted, the process that asked stays until comms_driver_free, with the GPUs
 * open: without persistence mode the driver lets go of a GPU with its last user, and its counters
 * begin at 0 again. Returns NULL after an error: -ENOMEM, -ETIMEDOUT, -EIO where asking has
 * crashed; in words.
 */
struct comms_driver *comms_driver_ask(struct err *err);

/*
 * Whether NCCL may be asked for the graphs of communicators (NCCL_GRAPH_DUMP_FILE): of up to 16
 * GPUs of one machine. Before 2.29.7 it has room for 4,096 elements in them, a GPU in each channel
 * of each graph is one, and what finds none is an error that ends the program (src/graph/search.cc,
 * ncclTopoDumpGraphs; src/init.cc). Where NVLink leaves the machine, a graph has GPUs of all.
 */
bool comms_driver_allows_graphs(const struct comms_driver *driver);

/*
 * Into the directory, beside the logs: what NVLink's counters did since *before, or why they are
 * not told, and links.csv. `before`: NULL with the reason in err, which is used up.
 */
void comms_driver_write(const char *directory, const struct comms_driver *before, struct err *err);

/* NULL is allowed. */
void comms_driver_free(struct comms_driver *driver);

#endif
