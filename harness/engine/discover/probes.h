/*
 * The measurements that rules of `contend validate` need: short runs of benchmarks, each in workers
 * of its own as `contend run` starts them, and each in a box of time, so that one that hangs is
 * ended and reported. Nothing of the machine is changed.
 *
 *   const struct probes_request request = {.benches = env->benches, .topo = &topo,
 *                                          .wanted = rules_probes(...), .limit_s = 150};
 *   rc = probes_measure(&request, &facts, &err);
 */
#ifndef CONTEND_ENGINE_DISCOVER_PROBES_H
#define CONTEND_ENGINE_DISCOVER_PROBES_H

#include <stdbool.h>

#include "harness/contract/bench.h"
#include "harness/lib/base/err.h"
#include "harness/machine/facts/facts.h"
#include "harness/machine/topo/topo.h"

enum probes_level { PROBES_QUICK, PROBES_STANDARD, PROBES_LONG };

struct probes_request {
    const struct bench *const *benches;
    const struct topo *topo;
    unsigned wanted; /* bits of enum facts_probe_name */
    enum probes_level level;
    double limit_s; /* for all: one that would not fit any more is left out, and says so */
    double burn_s;  /* how long all parts are busy together; 0 = not at all */
    bool backwards; /* in the other order: another look */
};

/* How long they will take together, s, as far as limit_s has room for them. */
double probes_expect(const struct probes_request *request);

/*
 * Fills facts->probes of those that are wanted, and gives the others a reason; what
 * was there before is let go of. -EINTR: a signal asked to stop; -ENOMEM. That one cannot run,
 * fails or hangs is no error, but its status.
 */
int probes_measure(const struct probes_request *request, struct facts *facts, struct err *err);

#endif
