/* For targets that read fleets: arranges, judges and prints a fleet. None of these steps may
 * fail. */
#ifndef CONTEND_TESTS_FUZZ_JUDGED_H
#define CONTEND_TESTS_FUZZ_JUDGED_H

#include "harness/validate/fleet.h"

/* Frees the fleet. */
void judge_and_free(struct fleet *fleet);

#endif
