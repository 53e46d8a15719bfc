/*
 * How long sampled collectives ran on their GPU: a CUDA event before NCCL's kernel on its stream
 * and one behind it. NCCL tells of the launch first (ncclProfileKernelLaunch, from interface 5 on)
 * and then, on the same thread, of the work that the kernel does; a kernel of several collectives
 * or of sends, and work that is told by another thread (as where a network's proxy needs it), is
 * not timed.
 *
 * Nothing waits: events are asked later whether they are over, at the next call that is timed or at
 * the end of the communicator. A fixed number of them exists. While a stream is captured nothing is
 * recorded. Which calls are timed depends on their number alone, so that all ranks time the same.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_TIMING_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_TIMING_H

#include "harness/comms/plugin/plugin_log.h"

/* The PCI address of this thread's GPU; "" where it has none. */
void plugin_cuda_find_gpu(char gpu[static COMMS_GPU_MAX]);

/* One in `every` collectives, but never the first, which sets up connections; 0: none. */
void plugin_timing_set(uint64_t every);

/*
 * A kernel is about to be launched, the first collective of which is `sequence`; a handle for
 * plugin_timing_launched, or NULL.
 */
void *plugin_timing_launch(int member, uint64_t sequence, void *stream);

/* It was launched. Nothing of another handle. */
void plugin_timing_launched(void *handle);

/* Begins the work of one kernel; false: that kernel is not timed. */
bool plugin_timing_begin_work(int member);
void plugin_timing_add_work(const struct plugin_counted *counted); /* NULL: no collective */
void plugin_timing_end_work(void);

/* Collects what is over, and gives back the events of the member. */
void plugin_timing_leave(int member);

#endif
