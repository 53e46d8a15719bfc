/* Processes as they are named on the command line of doctor. */
#ifndef CONTEND_DOCTOR_CMD_PROCESSES_H
#define CONTEND_DOCTOR_CMD_PROCESSES_H

#include <sys/types.h>

#include "harness/doctor/reader/reader.h"
#include "harness/lib/base/err.h"
#include "harness/lib/base/opt.h"

/*
 * Watches those of --pid, which become `pids`, or with --gpu-procs who uses a GPU; without either
 * nobody. -EINVAL names what is no number of a process; and as processes_watch_gpu_users.
 */
int processes_watch(const struct opt_texts *texts, bool gpu_procs, struct reader *reader,
                    pid_t pids[OPT_TEXTS_MOST], struct err *err);

/*
 * Which GPUs those that are watched use, as it is now, where their libraries tell that some may use
 * one: NVML is started only then, which takes a while. Without NVML nothing is known.
 */
void processes_find_gpus(struct reader *reader);

/* Watches who uses a GPU. -ENOTSUP without NVML; -ESRCH it lists none that is here; in words. */
int processes_watch_gpu_users(struct reader *reader, struct err *err);

#endif
