/* Starts a user's command: bound, in a session of its own, with its output in a pipe. */
#ifndef CONTEND_ENGINE_WORKER_COMMAND_START_H
#define CONTEND_ENGINE_WORKER_COMMAND_START_H

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"

/*
 * Starts the command on these CPUs, without a terminal. *out_fd is the non-blocking end of its
 * output; once set, the caller closes it, also after an error. -ENOEXEC: it cannot be executed, and
 * the message says why; -errno of pipe and fork.
 */
int command_start(char *const *argv, const struct bitset *cpus, struct process *process,
                  int *out_fd, struct err *err);

#endif
