/*
 * Settings in the environment of whoever starts the workers that would undo a plan: they bind
 * threads elsewhere, or size teams otherwise. Pure: `get` is getenv, or a test's own.
 */
#ifndef CONTEND_PLAN_EMIT_INHERITED_H
#define CONTEND_PLAN_EMIT_INHERITED_H

#include <stdbool.h>

#include "harness/contract/finding.h"
#include "harness/lib/base/strbuf.h"
#include "harness/plan/placement/plan.h"

/* Sets the size of a team. MKL and OpenBLAS take OMP_NUM_THREADS where their own is not set. */
enum { INHERITED_TEAMS = 3 };
extern const char *const inherited_teams[INHERITED_TEAMS];

/*
 * Each name that the workers must not inherit, behind `before`. With `get` only those that are set,
 * and those of inherited_teams but OMP_NUM_THREADS, too.
 */
void inherited_add(struct strbuf *out, const struct plan *plan, const char *before,
                   char *(*get)(const char *name));

/* One finding about those that are set, if any. -ENOMEM only. */
int inherited_check(const struct plan *plan, char *(*get)(const char *name),
                    struct findings *findings, struct err *err);

#endif
