/*
 * Measures the topology that is really there: the scans core_to_core, smt_pairs and mem_latency in
 * workers of their own, as `contend run` starts them, then measured.h's reading of them.
 */
#ifndef CONTEND_ENGINE_DISCOVER_SCANS_H
#define CONTEND_ENGINE_DISCOVER_SCANS_H

#include <stdbool.h>

#include "harness/contract/bench.h"
#include "harness/engine/discover/measured.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"

/* Repeated scans of all pairs: three tell what is stable from what the hypervisor moves. */
enum { SCANS_REPEATS = 3 };

/*
 * Takes about 15 s, and 5 s more with `caches`. Errors: -EINTR, a signal asked to stop; -ENOTSUP,
 * the scans cannot run here, with their reason; what starting workers gives. Free *out with
 * measured_free, also after an error.
 */
int scans_measure(const struct bench *const *benches, const struct topo *topo, bool caches,
                  struct measured *out, struct err *err);

#endif
