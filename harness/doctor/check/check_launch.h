/*
 * The line that starts a process again with other settings, for what started it: a shell, torchrun,
 * mpirun, Slurm, a unit of systemd, Docker or Podman, Kubernetes. Pure.
 *
 * Arguments and environments of others are text that nobody has checked: each word and value is
 * quoted for a shell; a word with control characters, or a line that is long, ends as "...".
 */
#ifndef CONTEND_DOCTOR_CHECK_CHECK_LAUNCH_H
#define CONTEND_DOCTOR_CHECK_CHECK_LAUNCH_H

#include "harness/doctor/check/cure.h"
#include "harness/doctor/view/view.h"

enum { LAUNCH_COMMAND_MAX = 600, LAUNCH_HOW_MAX = 400 };

struct launch {
    char command[LAUNCH_COMMAND_MAX]; /* "" where its arguments are not known */
    char how[LAUNCH_HOW_MAX];         /* who starts it, and how to undo the change */
};

/*
 * `cure`: what is set; nothing is unset. `cpus`: that it starts on; NULL = as it does now.
 * `threads`: that it will have.
 */
void launch_write(const struct view *view, const struct view_process *process,
                  const struct cure *cure, const struct bitset *cpus, unsigned threads,
                  struct launch *launch);

#endif
