/*
 * Writes the line that starts a process again with other settings, in the form of what started it:
 * a shell, torchrun, mpirun, Slurm, systemd, Docker or Podman, Kubernetes. Pure.
 *
 * Arguments and environments of other users are untrusted text. Each word and value is quoted for a
 * shell; a word that is not printable ASCII, or a long line, ends as "...".
 */
#ifndef CONTEND_DOCTOR_CHECKS_CHECK_LAUNCH_H
#define CONTEND_DOCTOR_CHECKS_CHECK_LAUNCH_H

#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/view.h"

enum { LAUNCH_COMMAND_MAX = 600, LAUNCH_HOW_MAX = 400 };

struct launch {
    char command[LAUNCH_COMMAND_MAX]; /* "" if its arguments are unknown */
    char how[LAUNCH_HOW_MAX];         /* what starts it, and how to undo the change */
};

/* The last argument that has the name of `option`, up to its '='; NULL = none. */
const char *launch_find_argument(const struct view_process *process, const char *option);

/*
 * `env_changes`: variables to set; unset entries are ignored. `cpus`: CPUs to start on; NULL = no
 * change. `threads`: threads that it will have, for Slurm. Writes nothing if the process was
 * started so already.
 */
void launch_write(const struct view *view, const struct view_process *process,
                  const struct env_changes *env_changes, const struct bitset *cpus,
                  unsigned threads, struct launch *launch);

/*
 * The line of its launcher with `wanted` ranks in place of `seen`. The command stays "" if no
 * launcher is known, or if it does not name that number.
 */
void launch_write_ranks(const struct view *view, const struct view_process *process, unsigned seen,
                        unsigned wanted, struct launch *launch);

/* The nearest ancestor that starts the processes of a job, such as mpirun; NULL: there is none. */
const struct view_process *launch_find_launcher(const struct view *view,
                                                const struct view_process *process);

#endif
