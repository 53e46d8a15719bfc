/*
 * trials.csv of a selfcheck: a line for each comparison, in the order in which they were made, with
 * RFC 4180 quoting. An unknown number is an empty cell.
 */
#ifndef CONTEND_STORE_FILES_TRIALS_H
#define CONTEND_STORE_FILES_TRIALS_H

#include "harness/verdict/runs/selfcheck.h"

#define TRIALS_NAME "trials.csv"
#define TRIALS_COLUMNS "kind,trial,busy_percent,outcome,rounds,took_s,said"

/* Takes the place of an earlier one in one step. Errors: the errno of the call that failed. */
int trials_write(int dir_fd, const struct selfcheck *check, struct err *err);

#endif
