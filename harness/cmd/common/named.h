/* Finds the scenarios or the benchmark that a command line names; logs why a name is invalid. */
#ifndef CONTEND_CMD_COMMON_NAMED_H
#define CONTEND_CMD_COMMON_NAMED_H

#include <stddef.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/err.h"
#include "harness/machine/env.h"
#include "harness/machine/topo.h"
#include "harness/show/json/runs.h"
#include "harness/verdict/comparison.h"

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

/* Shared by the commands that compare: --fail-on, exit code, JUnit files, and the title of pages.
 */

/* The words of --fail-on, also for completions; ends with NULL. */
extern const char *const compared_fail_on[];

/* Checks a list such as "slower,unclear,missing", or "none". -EINVAL: names an invalid word. */
int compared_check_fail_on(const char *fail_on, struct err *err);

/*
 * EXIT_VERDICT if a gating metric has an outcome of --fail-on; else EXIT_INCONCLUSIVE if no gating
 * metric was decided; else EXIT_GOOD.
 */
int compared_code(const struct comparisons *comparisons, const char *fail_on);

/* Writes each gating metric as a test of that suite, in JUnit's format. Errors name the file. */
int compared_write_junit(const struct comparisons *comparisons, const char *suite, const char *path,
                         struct err *err);

/* The command as it was typed, cut: "contend compare BASE NEW", "contend compare BASE... --
 * NEW...", of which the first `nbase` paths are BASE; nbase = n: without "--". */
const char *compared_title(const char *const *paths, size_t n, size_t nbase);

/* The default placement of 'contend place', and the evidence for it. */

/*
 * Finds the newest result below results/ with this machine, workload and number of workers. False:
 * none.
 */
bool place_find_measured(const struct topo *topo, unsigned workers, const char *const *job,
                         struct recommended *found);

/* "recommended by results/h/20261125T1200Z-pipeline (pipeline): sized, 18x the default". In buf. */
const char *place_format_measured(const struct recommended *found);

/* Says that the placement is not measured, and which command measures. */
const char *place_format_nearest(const char *placement, const char *const *job);

/* Prints the text of --emit, with the note as a comment in that text's language. */
void place_print_noted(const char *text, const char *note);

#endif
