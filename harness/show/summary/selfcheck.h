/* What a selfcheck has counted, on a terminal: a line for each kind of trial. */
#ifndef CONTEND_SHOW_SUMMARY_SELFCHECK_H
#define CONTEND_SHOW_SUMMARY_SELFCHECK_H

#include <stdio.h>

#include "harness/verdict/runs/selfcheck.h"

/* 80 columns. -ENOMEM only. */
int selfcheck_print(const struct selfcheck *check, FILE *out, struct err *err);

#endif
