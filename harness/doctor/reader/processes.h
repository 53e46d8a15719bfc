/* Resolves the processes that the command line of doctor names. */
#ifndef CONTEND_DOCTOR_READER_PROCESSES_H
#define CONTEND_DOCTOR_READER_PROCESSES_H

#include <sys/types.h>

#include "harness/doctor/reader/reader.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"

/*
 * Watches the processes of --pid and writes them to `pids`, or with --gpu-procs those that use a
 * GPU; without either, none. -EINVAL names an invalid pid. Also errors of
 * processes_watch_gpu_users.
 */
int processes_watch(const struct opt_texts *texts, bool gpu_procs, struct reader *reader,
                    pid_t pids[OPT_TEXTS_MOST], struct err *err);

/*
 * Finds the GPUs that watched processes use now. Starts NVML, which takes a while, only if the
 * mapped libraries show that one may use a GPU. Without NVML the GPUs stay unknown.
 */
void processes_find_gpus(struct reader *reader);

/* Watches the processes that use a GPU. -ENOTSUP: no NVML; -ESRCH: NVML lists none that is here. */
int processes_watch_gpu_users(struct reader *reader, struct err *err);

#endif
