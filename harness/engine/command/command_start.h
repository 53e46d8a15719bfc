/* How a user's command comes to be: bound, in a session of its own, its output in a pipe. */
#ifndef CONTEND_ENGINE_COMMAND_COMMAND_START_H
#define CONTEND_ENGINE_COMMAND_COMMAND_START_H

#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/process.h"

/*
 * Starts it on these CPUs, without a terminal. *out_fd, where what it prints is read without
 * waiting, is the caller's to close from when it is set, also after an error: -ENOEXEC, in words,
 * where it cannot be executed; -errno of pipe and fork.
 */
int command_start(char *const *argv, const struct bitset *cpus, struct process *process,
                  int *out_fd, struct err *err);

#endif
