/*
 * Probes: the measurements that rules of `contend validate` need. Each is a short run of benchmarks
 * in workers of its own, as `contend run` starts them, with a time limit: a probe that hangs is
 * ended and reported. Probes change nothing on the machine.
 *
 *   const struct probes_request request = {.benches = env->benches, .topo = &topo,
 *                                          .wanted = rules_probes(...), .limit_s = 150};
 *   rc = probes_measure(&request, &facts, &err);
 */
#ifndef CONTEND_VALIDATE_PROBES_H
#define CONTEND_VALIDATE_PROBES_H

#include <stdbool.h>

#include "harness/engine/contract/bench.h"
#include "harness/lib/err.h"
#include "harness/machine/facts.h"
#include "harness/machine/topo.h"

enum probes_level { PROBES_QUICK, PROBES_STANDARD, PROBES_LONG };

struct probes_request {
    const struct bench *const *benches;
    const struct topo *topo;
    unsigned wanted; /* bits of enum facts_probe_name */
    enum probes_level level;
    double limit_s;     /* of all probes: a probe that no longer fits is left out and says so */
    double burn_s;      /* how long PROBE_BURN keeps all parts busy; 0 = no such probe */
    bool reverse_order; /* for a second measurement */
};

/* Expected time in s of all wanted probes that fit into limit_s. */
double probes_expect(const struct probes_request *request);

/*
 * Fills facts->probes: wanted probes with values, the others with a reason. Frees earlier values.
 * -EINTR: a signal asked to stop; -ENOMEM. A probe that cannot run, fails or hangs is no error: its
 * status says so.
 */
int probes_measure(const struct probes_request *request, struct facts *facts, struct err *err);

#endif
