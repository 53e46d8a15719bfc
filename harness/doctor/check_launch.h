/*
 * The line that starts a process again with other settings, for what started it: a shell, torchrun,
 * mpirun, Slurm, a unit of systemd, Docker or Podman, Kubernetes. Pure.
 *
 * Arguments of others are text that nobody has checked: each word is quoted for a shell, and a word
 * with control characters, or a line that is long, ends as "...". Of an environment only names
 * that set threads, or tell the launcher, are looked at, and none of their values is printed.
 */
#ifndef CONTEND_DOCTOR_CHECK_LAUNCH_H
#define CONTEND_DOCTOR_CHECK_LAUNCH_H

#include "harness/doctor/view.h"

enum { LAUNCH_COMMAND_MAX = 400, LAUNCH_HOW_MAX = 240 };

struct launch {
    char command[LAUNCH_COMMAND_MAX]; /* "" where its arguments are not known */
    char how[LAUNCH_HOW_MAX];         /* who starts it, and how to take the change back */
};

/*
 * `settings`: "NAME=VALUE NAME=VALUE", or ""; each is plain. `cpus`: that it starts on; NULL = as
 * it does now. `threads`: that it will have.
 */
void launch_write(const struct view *view, const struct view_process *process, const char *settings,
                  const struct bitset *cpus, unsigned threads, struct launch *launch);

#endif
