/*
 * What every plan promises, worked out without the planner: CPUs that may be used, no overlap where
 * a placement excludes it, fair shares, cores and caches kept whole, the reasons for refusing.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_PLAN_PROPERTIES_H
#define CONTEND_TESTS_LIB_FIXTURE_PLAN_PROPERTIES_H

#include "harness/plan/placement/plan.h"

/* Makes the plan, twice, and fails the test where it, or its refusal, breaks a promise. */
void fixture_check_plan(const struct topo *topo, const struct plan_request *request);

#endif
