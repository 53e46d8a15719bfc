/* What makes a GPU of a run another one than the run takes it for, and what it met, as findings.
 * Pure. */
#ifndef CONTEND_VERDICT_ODD_GPUS_H
#define CONTEND_VERDICT_ODD_GPUS_H

#include "harness/contract/finding.h"
#include "harness/engine/arms/result.h"
#include "harness/machine/topo/topo.h"

/*
 * Of the GPUs that CUDA shows, where the run uses any: other processes on it, its compute mode,
 * MIG. Known before anything is measured. Appends; -ENOMEM only.
 */
int gpus_find(const struct topo *topo, const struct result *result, struct findings *findings,
              struct err *err);

/*
 * What changed on GPUs while arms ran: errors of memory and links, Xids, PCIe links that are slow
 * under load (machine/gpu/watch.h). One finding a GPU and kind, which names the arms; the evidence
 * is in how many of the launches of workers on that GPU. Appends; -ENOMEM only.
 */
int gpus_find_changes(const struct topo *topo, const struct result *result,
                      struct findings *findings, struct err *err);

#endif
