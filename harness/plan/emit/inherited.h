/*
 * Environment variables that would undo a plan if workers inherited them: they bind threads
 * elsewhere, or change the size of teams. Pure: `get` is getenv, or a test's substitute.
 */
#ifndef CONTEND_PLAN_EMIT_INHERITED_H
#define CONTEND_PLAN_EMIT_INHERITED_H

#include "harness/lib/finding.h"
#include "harness/lib/strbuf.h"
#include "harness/plan/plan.h"

/* These set the size of a team. MKL and OpenBLAS use OMP_NUM_THREADS if their own is not set. */
enum { INHERITED_TEAMS = 3 };
extern const char *const inherited_teams[INHERITED_TEAMS];

/*
 * Appends each name that the workers must not inherit, preceded by `before`. With `get`, only names
 * that are set, and then inherited_teams except OMP_NUM_THREADS, too. `get` may be NULL.
 */
void inherited_add(struct strbuf *out, const struct plan *plan, const char *before,
                   char *(*get)(const char *name));

/* Adds one finding about the names that are set, if any. The only error is -ENOMEM. */
int inherited_check(const struct plan *plan, char *(*get)(const char *name),
                    struct findings *findings, struct err *err);

#endif
