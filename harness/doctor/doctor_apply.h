/* contend doctor --apply and --undo: binds busy processes as the findings say, and restores masks.
 */
#ifndef CONTEND_DOCTOR_DOCTOR_APPLY_H
#define CONTEND_DOCTOR_DOCTOR_APPLY_H

#include "harness/doctor/doctor_change.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/sys/signals.h"

/* Prints a line per bystander, such as "busy (4711) of alice: 0.98 CPUs". */
void doctor_print_bystanders(const struct bystanders *bystanders, FILE *out);
/* Prints the CPUs that bystanders used before and after; nothing if there are none. */
void doctor_report_cost(const struct bystanders *bystanders, FILE *out);
/* Asks `question` on a terminal. -EINVAL: there is no terminal; -EINTR. */
int doctor_ask(const char *question, const char *option, struct signals *signals, bool *wanted,
               struct err *err);

/*
 * Shows the change, asks on a terminal, makes it, and prints what it did to the workers' logs and
 * to bystanders. *done: false if the user declined, nothing is to be bound, or the logs became
 * slower, and so it is undone.
 */
int doctor_apply(struct reader *reader, const struct diagnosis *diagnosis,
                 const struct doctor_apply_options *options, struct signals *signals, bool *done,
                 struct err *err);
int doctor_undo(const struct doctor_apply_options *options, struct err *err);

/* At the start: undoes the trial of a killed contend, reports on stderr what --apply left bound. */
void doctor_undo_stale_trial(const struct doctor_apply_options *options);

#endif
