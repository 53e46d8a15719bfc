/* A fleet that was read is arranged, judged by itself, and told: none of it may fail. */
#ifndef CONTEND_TESTS_FUZZ_JUDGED_H
#define CONTEND_TESTS_FUZZ_JUDGED_H

#include "harness/validate/fleet/fleet.h"

/* Frees it. */
void judge_and_free(struct fleet *fleet);

#endif
