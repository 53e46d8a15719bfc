/* Finds the scenarios or the benchmark that a command line names; logs why a name is invalid. */
#ifndef CONTEND_CMD_COMMON_NAMED_H
#define CONTEND_CMD_COMMON_NAMED_H

#include "harness/cmd/common/cmd.h"
#include "harness/machine/env.h"
#include "harness/machine/topo.h"

/*
 * Finds all named scenarios, into found[CLI_LIST_MAX]; without a name, the main job, which is the
 * first scenario. Returns their number, or -1 after a message.
 */
int named_scenarios(const struct cmd_env *env, const struct cli *cli,
                    const struct scenario **found);

/* True if a placement may change its throughput: one benchmark, of steps, with any worker count. */
bool named_is_task(const struct cmd_env *env, const struct scenario *scenario);

/* This machine's name in results: the one that the user gave, or (NULL) the host name. */
void named_host(const char *given, char label[ENV_HOST_LABEL_MAX]);

/* The named benchmark; NULL after a message if none, several or an unknown one is named. */
const struct bench *named_bench(const struct cmd_env *env, const struct cli *cli);

/*
 * Why a machine with this topology would skip the benchmark; "" = no reason is known. For a run on
 * one machine. Returns reason.
 */
const char *named_not_here(const struct topo *topo, const struct bench *bench);

#endif
