/*
 * What the host has done to a rank so far: reads the kernel's counters on the thread that enqueues,
 * at most once in 100 ms.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_LOOK_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_LOOK_H

#include "harness/comms/plugin/record.h"

/* Adds a look to the ring, which had `n` so far, if one is due. Keeps errno. */
void plugin_look_add(uint32_t member, uint64_t now_ns, struct comms_look *ring, uint64_t *n);

#endif
