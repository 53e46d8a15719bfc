/* Starts a user's command: bound, in a session of its own, with its output in a pipe; and judges
 * how it ended. */
#ifndef CONTEND_ENGINE_WORKER_COMMAND_START_H
#define CONTEND_ENGINE_WORKER_COMMAND_START_H

#include "harness/engine/worker/command_output.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/lib/sys/process.h"

/*
 * Starts the command on these CPUs, without a terminal. `is_client`: its memory is not placed as
 * the worker's, and it has contend's environment. *out_fd is the non-blocking end of its
 * output; once set, the caller closes it, also after an error. -ENOEXEC: it cannot be executed, and
 * the message says why; -errno of pipe and fork.
 */
int command_start(char *const *argv, const struct bitset *cpus, bool is_client,
                  struct process *process, int *out_fd, struct err *err);

/* Sets variables in this process's own environment, which commands inherit; borrows them. */
int command_export(const struct opt_texts *env, struct err *err);

/*
 * -ECHILD if it did not end with success, or `never`: not at all was it to end. The message names
 * `what` ended, `when`, and the last line that it printed.
 */
int command_judge(const char *what, int status, const char *when,
                  const struct command_output *output, bool never, struct err *err);

#endif
