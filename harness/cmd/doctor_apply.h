/* contend doctor --apply and --undo: busy processes get CPUs of their own, and back what they had.
 */
#ifndef CONTEND_CMD_DOCTOR_APPLY_H
#define CONTEND_CMD_DOCTOR_APPLY_H

#include <stdbool.h>

#include "harness/base/err.h"
#include "harness/doctor/view.h"

struct doctor_apply_options {
    const char *placement; /* by its name; it has to bind */
    const char *state;     /* file; NULL = the usual one */
    bool yes;              /* do not ask */
};

/*
 * Shows what each worker of the view would be bound to, asks on a terminal, and does it. *done:
 * false where nobody wanted it, or there is nothing to bind. -EINVAL: the placement does not bind,
 * cannot be had here, or there is nobody to ask.
 */
int doctor_apply(const struct view *view, const struct doctor_apply_options *options, bool *done,
                 struct err *err);
int doctor_undo(const struct doctor_apply_options *options, struct err *err);

#endif
