/* What a history that was looked through says: the second half of history_judge. */
#ifndef CONTEND_VERDICT_RUNS_HISTORY_SAY_H
#define CONTEND_VERDICT_RUNS_HISTORY_SAY_H

#include "harness/verdict/runs/history.h"

int history_say(struct history *history, struct findings *findings, struct err *err);

#endif
