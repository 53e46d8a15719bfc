/*
 * The change of masks that --apply and --verify make: the commands of the findings, or a placement
 * that the user named. One decision (check/cure.h) says which processes it binds.
 */
#ifndef CONTEND_DOCTOR_DOCTOR_CHANGE_H
#define CONTEND_DOCTOR_DOCTOR_CHANGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/apply.h"
#include "harness/doctor/apply_plan.h"
#include "harness/doctor/checks/check.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"

/* Where --force binds and no finding says to which CPUs. */
extern const char doctor_usual_placement[];

struct doctor_apply_options {
    const char *placement; /* name of a placement that binds; NULL = as the findings say */
    const char *state;     /* state file; NULL = the usual path */
    bool yes;              /* do not ask */
    bool force;            /* bind all busy workers, also where no finding says so */
};

/* The planned change, and the bystanders (apply_plan.h). Zeroed = empty. */
struct doctor_change {
    size_t n;
    struct apply_process *processes; /* owned */
    bool is_new;                     /* some processes have other masks now */
    char
        commands[2048]; /* the findings' commands that do the same; "" = a placement, or too long */
    char state[PATH_MAX];
    struct apply_lock lock; /* held from the plan on */
    struct bystanders bystanders;
};

/*
 * Plans the change; `tries`: it is measured and undone. Prints on `out` the planned CPUs of each
 * worker, the bystanders, and what is not bound and why. n = 0: no process to bind, as printed.
 * -EINVAL: the placement does not bind, or is not possible here.
 */
int doctor_change_make(const struct view *view, const struct diagnosis *diagnosis, bool tries,
                       const struct doctor_apply_options *options, FILE *out,
                       struct doctor_change *change, struct err *err);
void doctor_change_free(struct doctor_change *change);

/* Binds the processes; undoes it if one cannot be bound. */
int doctor_change_do(const struct doctor_change *change, enum apply_purpose purpose, size_t *bound,
                     struct err *err);

/* Appends " --pid PID" for each worker of the change; false: they do not fit. */
bool doctor_change_name_pids(const struct doctor_change *change, char *buf, size_t size);

int doctor_find_state(const struct doctor_apply_options *options, char *path, size_t size,
                      struct err *err);
/* " --state FILE" for printed commands; "" = the usual path, or the name is too long. */
char *doctor_format_state(const struct doctor_apply_options *options, char *buf, size_t size);

/* " of alice" if the user is not us. */
const char *doctor_whose(unsigned uid);

/* For bystanders_find, where the change targets no job: contend itself and its children. */
bool doctor_is_own_process(const void *arg, const struct view_process *process);

/* Starts a job to measure it. The job and its descendants end when contend does. */

/* Zeroed = none. */
struct doctor_launch {
    struct process process; /* parent of the job: ends the job if contend is killed */
};

/* Runs `line` in a shell, with the settings of `env_changes` (or NULL). Output goes to `output_fd`.
 */
int doctor_launch_begin(const char *line, struct env_changes *env_changes, int output_fd,
                        struct doctor_launch *launch, struct err *err);

bool doctor_launch_runs(const struct doctor_launch *launch);

/* Sends SIGTERM to the job and its descendants, and SIGKILL 3 s later. */
void doctor_launch_end(struct doctor_launch *launch);

#endif
