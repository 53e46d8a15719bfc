/*
 * `contend run --comms`: workers under NCCL's profiler plugin, a folder of logs an arm in the
 * result directory, what they tell held against the benchmark's own count in every round, and
 * matrices of the last round.
 *
 *   rc = run_comms_open(&comms, &setup, &err);          refuses what has no NCCL
 *   rc = run_comms_use(&comms, directory, &err);        where logs go, from the next arm on
 *   setup.config.watch = &comms.watch; ...; run
 *   rc = run_comms_judge(&comms, &findings, &err);
 *   rc = run_comms_print(&comms, stdout, &err);
 *   run_comms_free(&comms);
 */
#ifndef CONTEND_CMD_RUN_COMMS_H
#define CONTEND_CMD_RUN_COMMS_H

#include <limits.h>
#include <stdio.h>

#include "harness/cmd/comms_driver.h"
#include "harness/comms/check.h"
#include "harness/run/setup.h"

/* Zeroed = closed. */
struct run_comms {
    const struct run_setup *setup; /* borrowed */
    struct observe_watch watch;
    char directory[PATH_MAX]; /* absolute */
    char plugin[PATH_MAX + 64], folder[PATH_MAX + 64];
    char texts[3][PATH_MAX + 160];
    struct opt_texts env;
    struct comms_driver *driver; /* owned; as it was before the arm */
    struct err why;              /* it is not known; then it is not asked again */
    struct comms_checked checked;
    struct findings findings; /* of all rounds so far */
};

/* -ENOTSUP: an arm runs without NCCL, or in a job; -EBUSY, -ENOENT of the plugin. */
int run_comms_open(struct run_comms *comms, const struct run_setup *setup, struct err *err);
int run_comms_use(struct run_comms *comms, const char *directory, struct err *err);
int run_comms_judge(const struct run_comms *comms, struct findings *findings, struct err *err);
int run_comms_print(struct run_comms *comms, FILE *out, struct err *err);
void run_comms_free(struct run_comms *comms);

#endif
