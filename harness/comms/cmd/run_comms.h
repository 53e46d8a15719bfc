/*
 * `contend run --comms`: workers under NCCL's profiler plugin, a folder of logs an arm in the
 * result directory, what they tell held against the benchmark's own count in every round, and
 * matrices of the last round.
 */
#ifndef CONTEND_COMMS_CMD_RUN_COMMS_H
#define CONTEND_COMMS_CMD_RUN_COMMS_H

#include "harness/cmd/common/cmd.h"

extern const struct comms_hooks run_comms_hooks;

#endif
