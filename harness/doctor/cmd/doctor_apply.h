/* contend doctor --apply and --undo: binds busy processes to their own CPUs, and restores masks. */
#ifndef CONTEND_DOCTOR_CMD_DOCTOR_APPLY_H
#define CONTEND_DOCTOR_CMD_DOCTOR_APPLY_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/apply/apply.h"
#include "harness/doctor/apply/bystanders.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/plan/placement/plan.h"

struct doctor_apply_options {
    const char *placement; /* name of a placement that binds */
    const char *state;     /* state file; NULL = the usual path */
    bool yes;              /* do not ask */
};

/* The planned change, and the bystanders (bystanders.h). Zeroed = empty. */
struct doctor_change {
    size_t n;
    struct apply_process *processes; /* owned */
    bool is_new;                     /* some processes have other masks now */
    char state[PATH_MAX];
    bool makes_folder; /* make the folder of `state`, if that is the usual path */
    struct bystanders bystanders;
};

/*
 * Plans the change, and prints on `out` the planned CPUs of each worker and the bystanders. n = 0:
 * no process to bind. -EINVAL: the placement does not bind, or is not possible here.
 */
int doctor_change_make(const struct view *view, const struct doctor_apply_options *options,
                       FILE *out, struct doctor_change *change, struct err *err);
void doctor_change_free(struct doctor_change *change);

/* Binds the processes; undoes it if one cannot be bound. */
int doctor_change_do(const struct doctor_change *change, enum apply_purpose purpose, size_t *bound,
                     struct err *err);

/* Prints a line per bystander, such as "busy (4711) of alice: 0.98 CPUs". */
void doctor_print_bystanders(const struct bystanders *bystanders, FILE *out);
/* Prints the CPUs that bystanders used before and after; nothing if there are none. */
void doctor_report_cost(const struct bystanders *bystanders, FILE *out);
/* For bystanders_find, where the change targets no job: contend itself and its children. */
bool doctor_is_own_process(const void *arg, const struct view_process *process);

/* Asks `question` on a terminal. -EINVAL: there is no terminal; -EINTR. */
int doctor_ask(const char *question, const char *option, struct signals *signals, bool *wanted,
               struct err *err);

/*
 * Shows the change, asks on a terminal, makes it, and prints its cost for bystanders. *done: false
 * if the user declined, or nothing is to be bound.
 */
int doctor_apply(struct reader *reader, const struct doctor_apply_options *options,
                 struct signals *signals, bool *done, struct err *err);
int doctor_undo(const struct doctor_apply_options *options, struct err *err);

/* At the start: undoes the trial of a killed contend, reports on stderr what --apply left bound. */
void doctor_undo_stale_trial(const struct doctor_apply_options *options);

#endif
