/*
 * What every plan promises, computed without the planner: only allowed CPUs, no overlap where a
 * placement excludes it, fair shares, whole cores and caches, the reasons for refusing.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_PLAN_PROPERTIES_H
#define CONTEND_TESTS_LIB_FIXTURE_PLAN_PROPERTIES_H

#include "harness/plan/plan.h"

/* Makes the plan twice. Fails the test if the plan, or its refusal, breaks a promise. */
void fixture_check_plan(const struct topo *topo, const struct plan_request *request);

#endif
