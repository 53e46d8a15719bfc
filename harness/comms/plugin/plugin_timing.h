/*
 * Times sampled collectives on their GPU: by a CUDA event before NCCL's kernel on its stream and an
 * event after it. NCCL first reports the launch (ncclProfileKernelLaunch, from interface 5 on) and
 * then, on the same thread, the work of the kernel. Not timed: a kernel of several collectives or
 * of sends, and work that another thread reports (as when a network's proxy needs it).
 *
 * Nothing waits: events are queried at the next timed call, or at the end of the communicator.
 * Their number is fixed. Nothing is recorded while a stream is captured. Which calls are timed
 * depends only on their number, so that all ranks time the same calls.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_TIMING_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_TIMING_H

#include "harness/comms/plugin/plugin_log.h"

/* The PCI address of this thread's GPU; "" if it has none. */
void plugin_cuda_find_gpu(char gpu[static COMMS_GPU_MAX]);

/* One in `every` collectives, but never the first, which sets up connections; 0: none. */
void plugin_timing_set(uint64_t every);

/*
 * Called before the launch of a kernel whose first collective is `sequence`. Returns a handle for
 * plugin_timing_launched, or NULL.
 */
void *plugin_timing_launch(int member, uint64_t sequence, void *stream);

/* Called after the launch. Ignores other handles. */
void plugin_timing_launched(void *handle);

/* Begins the work of one kernel; false: that kernel is not timed. */
bool plugin_timing_begin_work(int member);
void plugin_timing_add_work(const struct plugin_counted *counted); /* NULL: no collective */
void plugin_timing_end_work(void);

/* Collects events that are over, and destroys the events of the member. */
void plugin_timing_leave(int member);

#endif
