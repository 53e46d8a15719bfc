/* Processes as they are named on the command lines of doctor and top. */
#ifndef CONTEND_CMD_PROCESSES_H
#define CONTEND_CMD_PROCESSES_H

#include <sys/types.h>

#include "harness/base/err.h"
#include "harness/base/opt.h"

/* Of --pid; -EINVAL names what is no number of a process. */
int processes_parse(const struct opt_texts *texts, pid_t pids[OPT_TEXTS_MOST], struct err *err);

#endif
