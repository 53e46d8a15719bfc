/* Each function appends one word of a command so that another language reads it back unchanged. */
#ifndef CONTEND_PLAN_EMIT_QUOTE_H
#define CONTEND_PLAN_EMIT_QUOTE_H

#include <stdbool.h>

#include "harness/lib/finding.h"
#include "harness/lib/text.h"
#include "harness/plan/plan.h"

/* A word for a POSIX shell. */
void quote_shell(struct strbuf *out, const char *word);

/*
 * A word for ExecStart= in a unit of systemd, between double quotes: % and $ doubled, \xNN for all
 * but printable ASCII and UTF-8. Source: systemd.service(5), systemd.syntax(7).
 */
void quote_unit(struct strbuf *out, const char *word);

/* A word for systemd-run on a shell's command line: doubles $, as the manager expands $NAME too. */
void quote_systemd_run(struct strbuf *out, const char *word);

/*
 * A YAML string for Kubernetes' `command` and `args`, which expand $(NAME): between double quotes,
 * in ASCII. False: the word is not UTF-8, which YAML cannot express.
 */
bool quote_yaml_arg(struct strbuf *out, const char *word);

/* RFC 4648, without line breaks. */
void quote_base64(struct strbuf *out, const char *text, size_t length);

/* True when a batch file, wsl.exe and a shell all take the word as it is. */
bool quote_is_plain_everywhere(const char *word);

/*
 * Environment variables that would undo a plan if workers inherited them: they bind threads
 * elsewhere, or change the size of teams. Pure: `get` is getenv, or a test's substitute.
 */

/* These set the size of a team. MKL and OpenBLAS use OMP_NUM_THREADS if their own is not set. */
enum { INHERITED_TEAMS = 3 };
extern const char *const inherited_teams[INHERITED_TEAMS];

/*
 * Each name that the workers must not inherit, preceded by `before`. With `get`, only names that
 * are set, and then inherited_teams except OMP_NUM_THREADS, too. `get` may be NULL.
 */
const char *inherited_list(const struct plan *plan, const char *before,
                           char *(*get)(const char *name));

/* Adds one finding about the names that are set, if any. */
void inherited_check(const struct plan *plan, char *(*get)(const char *name),
                     struct findings *findings);

#endif
