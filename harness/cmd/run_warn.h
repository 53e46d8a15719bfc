/* What a run says of GPUs before it starts, on stderr. */
#ifndef CONTEND_CMD_RUN_WARN_H
#define CONTEND_CMD_RUN_WARN_H

#include <stdbool.h>

#include "harness/core/finding.h"
#include "harness/machine/topo.h"
#include "harness/run/result.h"

/*
 * What makes a GPU that CUDA shows another one than a run takes it for: other processes on it, its
 * compute mode, MIG; appends the same to *findings. Returns whether the run uses GPUs at all; if
 * not, nothing is said.
 */
bool run_warn_gpus(const struct topo *topo, const struct result *result, struct findings *findings);

#endif
