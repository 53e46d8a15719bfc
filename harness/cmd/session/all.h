/*
 * Every scenario as one result: `contend run all`. A directory of its own with one a scenario in
 * it, and, after each, a page and a table over all of them. Scenarios that cannot run here are
 * skipped with the reason, and one that fails keeps none of the others from running.
 */
#ifndef CONTEND_CMD_SESSION_ALL_H
#define CONTEND_CMD_SESSION_ALL_H

#include "harness/cmd/session/session.h"

/* The name of all scenarios. */
#define ALL_NAME "all"

/* The command line names it. */
bool all_is_named(const struct cli *cli);

/* Runs them in a session whose command line was read. Returns the exit code, the worst of all. */
int all_run(struct session *s);

#endif
