/* contend doctor --apply and --undo: busy processes get CPUs of their own, and back what they had.
 */
#ifndef CONTEND_DOCTOR_CMD_DOCTOR_APPLY_H
#define CONTEND_DOCTOR_CMD_DOCTOR_APPLY_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/apply/apply.h"
#include "harness/doctor/apply/beside.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/plan/placement/plan.h"

struct doctor_apply_options {
    const char *placement; /* by its name; it has to bind */
    const char *state;     /* file; NULL = the usual one */
    bool yes;              /* do not ask */
};

/* The planned change, and the other processes at work. Zeroed = nothing. */
struct doctor_change {
    size_t n;
    struct apply_process *processes; /* owned */
    bool is_new;                     /* some have other masks now */
    char state[PATH_MAX];
    bool makes_folder; /* for it, where it is the usual one */
    struct beside beside;
};

/*
 * Shows on `out` what each worker of the view would be bound to, and who else is at work; n = 0
 * where there is none to bind. -EINVAL: the placement does not bind, or cannot be had here.
 */
int doctor_change_make(const struct view *view, const struct doctor_apply_options *options,
                       FILE *out, struct doctor_change *change, struct err *err);
void doctor_change_free(struct doctor_change *change);

/* Binds them, all or none. */
int doctor_change_do(const struct doctor_change *change, enum apply_purpose purpose, size_t *bound,
                     struct err *err);

/* "busy (4711) of alice: 0.98 CPUs", of those whom a change does not mean. */
void doctor_show_beside(const struct beside *beside, FILE *out);
/* Their speed before and after; nothing where there is none. */
void doctor_report_cost(const struct beside *beside, FILE *out);
/* For beside_find: nobody is meant, so all but ourselves are beside. */
bool doctor_means_none(const void *arg, const struct view_process *process);

/* "Bind them", on a terminal. -EINVAL where nobody can be asked; -EINTR. */
int doctor_ask(const char *question, const char *option, struct signals *signals, bool *wanted,
               struct err *err);

/*
 * Shows it, asks on a terminal, does it, and tells what it costs the others. *done: false where
 * nobody wanted it, or there is nothing to bind.
 */
int doctor_apply(struct reader *reader, const struct doctor_apply_options *options,
                 struct signals *signals, bool *done, struct err *err);
int doctor_undo(const struct doctor_apply_options *options, struct err *err);

/* At the start: a trial that was killed is undone, and what --apply did is recalled, on stderr. */
void doctor_tidy(const struct doctor_apply_options *options);

#endif
