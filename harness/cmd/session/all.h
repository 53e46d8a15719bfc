/*
 * `contend run all`: every scenario as one result. Its directory has a subdirectory per scenario,
 * and a page and a table over all, which are rewritten after each scenario. Scenarios that cannot
 * run here are skipped with the reason. A failed scenario does not stop the rest.
 */
#ifndef CONTEND_CMD_SESSION_ALL_H
#define CONTEND_CMD_SESSION_ALL_H

#include "harness/cmd/session/session.h"

/* The name that stands for all scenarios. */
#define ALL_NAME "all"

/* True if the command line has that name. */
bool all_is_named(const struct cli *cli);

/* Runs all scenarios in a session with a parsed command line. Returns the worst exit code. */
int all_run(struct session *s);

#endif
