/* What makes a GPU of a run another one than the run takes it for, as findings. Pure. */
#ifndef CONTEND_JUDGE_GPUS_H
#define CONTEND_JUDGE_GPUS_H

#include "harness/core/finding.h"
#include "harness/machine/topo.h"
#include "harness/run/result.h"

/*
 * Of the GPUs that CUDA shows, where the run uses any: other processes on it, its compute mode,
 * MIG. Known before anything is measured. Appends; -ENOMEM only.
 */
int gpus_find(const struct topo *topo, const struct result *result, struct findings *findings,
              struct err *err);

#endif
