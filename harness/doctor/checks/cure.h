/*
 * The one decision about a diagnosis: which running processes `--apply` and `--verify` may bind,
 * and why not the others. Pure.
 *
 *   struct cure_plan plan;
 *   rc = cure_decide(&diagnosis, false, &plan, &err);
 *   if (plan.binds.n) ... bind these ...
 *   cure_free(&plan);
 *
 * A process is bound if the command of an error or warning does it, exactly as that command says.
 * It is left alone if another error or warning says that a binding does not help it: two spinning
 * teams that were bound although fewer threads were their cure went from 2305 to 66 steps/s.
 * Processes without such a finding are left alone too, as a binding may only slow them. So are
 * those whose gain is unknown because no CPU idles: three processes on one CPU drive others away
 * from it, and got 0.83x when they were let onto a second CPU that others used.
 */
#ifndef CONTEND_DOCTOR_CHECKS_CURE_H
#define CONTEND_DOCTOR_CHECKS_CURE_H

#include "harness/doctor/checks/check.h"

struct cure_plan {
    struct check_binds binds; /* each process, or thread, once */
    bool is_unsure;           /* a note binds, at an unknown gain: only a trial may do that */
    /* Errors about processes that this does not fix; sorted by cost. */
    size_t nother;
    const struct found **other; /* owned array; the findings are the diagnosis's */
};

/* `tries`: the change is measured and undone. -ENOMEM only. Free the plan, also after an error; it
 * borrows from the diagnosis. */
int cure_decide(const struct diagnosis *diagnosis, bool tries, struct cure_plan *plan,
                struct err *err);
void cure_free(struct cure_plan *plan);

/* True if the process is one of those that this finding names. */
bool cure_names(const struct found *found, int pid);

/* What fixes this finding instead: "a start with 'export OMP_NUM_THREADS=2'". */
const char *cure_format_other(const struct found *found);

#endif
