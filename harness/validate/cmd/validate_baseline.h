/*
 * `contend validate --bounds FILE` of this machine: runs each scenario that the file has bounds
 * for, as far as there is time, and judges its figures, and those that were measured for the rules,
 * by them. What is beyond them is looked at once more, in another order.
 */
#ifndef CONTEND_VALIDATE_CMD_VALIDATE_BASELINE_H
#define CONTEND_VALIDATE_CMD_VALIDATE_BASELINE_H

#include "harness/cmd/common/cmd.h"
#include "harness/validate/fleet/bounds.h"
#include "harness/validate/json/validation.h"

struct validate_baseline {
    const struct cmd_env *env;
    const struct bounds *bounds;
    const struct validation *validation; /* of what was measured for the rules */
    double limit_s;                      /* for all runs; 0 = none is made */
    bool measures;                       /* false: --no-measure */
    bool required;                       /* by --require: nothing of it may be skipped */
    /*
     * Measures again, in another order, for the second look, as bits of enum facts_probe_name;
     * their values are the caller's. -ETIME: there is no time for it.
     */
    int (*measure_again)(void *arg, unsigned probes, struct facts_probe second[static PROBES],
                         struct err *err);
    void *arg;
};

/* This machine's kind as a baseline has it, before anything is measured: -ENOMEM, -EINVAL. */
int validate_baseline_kind(const struct validation *validation, char *kind, size_t size,
                           struct err *err);

/* The measurements for rules that the bounds need, as bits of enum facts_probe_name. */
unsigned validate_baseline_probes(const struct bounds *bounds);

/*
 * Puts findings of RULES_BASELINE_ID in place of the one that says that no file was given: FAIL and
 * WARN as for a fleet; ERROR of a figure that is required and could not be looked at, SKIP of
 * others, also where nothing that was measured has a bound; PASS. -EINTR: a signal asked to stop;
 * -ENOMEM, and what making a directory gives.
 */
int validate_by_baseline(const struct validate_baseline *request, struct findings *findings,
                         struct err *err);

#endif
