/* What a history that was looked through says: the second half of history_judge. */
#ifndef CONTEND_COMPARE_HISTORY_SAY_H
#define CONTEND_COMPARE_HISTORY_SAY_H

#include "harness/compare/history.h"

int history_say(struct history *history, struct findings *findings, struct err *err);

#endif
