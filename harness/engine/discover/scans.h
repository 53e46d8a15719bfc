/*
 * Measures the topology that is really there: the scans core_to_core and smt_pairs in workers of
 * their own, as `contend run` starts them, then measured.h's reading of them.
 */
#ifndef CONTEND_ENGINE_DISCOVER_SCANS_H
#define CONTEND_ENGINE_DISCOVER_SCANS_H

#include "harness/contract/bench.h"
#include "harness/engine/discover/measured.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"

/* Repeated scans of all pairs: three tell what is stable from what the hypervisor moves. */
enum { SCANS_REPEATS = 3 };

/*
 * Takes about 15 s. Errors: -EINTR, a signal asked to stop; -ENOTSUP,
 * the scans cannot run here, with their reason; what starting workers gives. Free *out with
 * measured_free, also after an error.
 */
int scans_measure(const struct bench *const *benches, const struct topo *topo, struct measured *out,
                  struct err *err);

#endif
