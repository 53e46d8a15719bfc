/* Finds the scenarios or the benchmark that a command line names; each logs why it finds none. */
#ifndef CONTEND_CMD_COMMON_NAMED_H
#define CONTEND_CMD_COMMON_NAMED_H

#include "harness/cmd/common/cmd.h"
#include "harness/machine/facts/env.h"
#include "harness/machine/topo/topo.h"

/*
 * All of them before anything starts, into found[CLI_LIST_MAX]; the main job where none is named.
 * Returns how many, or -1.
 */
int named_scenarios(const struct cmd_env *env, const struct cli *cli,
                    const struct scenario **found);

/* It has one benchmark, of workers whose work per second a placement changes. */
bool named_is_task(const struct cmd_env *env, const struct scenario *scenario);

/* This machine's name in results: the one that the user gave it, or its host name. */
void named_host(const char *given, char label[ENV_HOST_LABEL_MAX]);

/* The only one; or NULL. */
const struct bench *named_bench(const struct cmd_env *env, const struct cli *cli);

/*
 * Why a benchmark would be skipped on one machine, as far as its topology tells; "" when it would
 * not. Returns reason.
 */
char *named_not_here(const struct topo *topo, const struct bench *bench, char *reason, size_t size);

#endif
