/*
 * Parts shared by the shell scripts of emit/. The scripts refuse CPUs that are not allowed, start
 * all workers, stop all on Ctrl-C, and exit with the worst exit code. Written for POSIX sh.
 */
#ifndef CONTEND_PLAN_EMIT_SCRIPT_H
#define CONTEND_PLAN_EMIT_SCRIPT_H

#include "harness/plan/emit/parts.h"

/* "#!/bin/sh", a summary of the plan, and `usage`: lines "# ...\n" on how to run it, or "". */
void script_begin(struct strbuf *out, const struct emit *emit, const char *usage);

/* Shell functions that refuse CPUs; with `calls` also a call for each slice of the plan. */
void script_allowed(struct strbuf *out, const struct emit *emit, bool calls);

/* Unsets the variables that workers must not inherit; `indent` begins each line. */
void script_unset(struct strbuf *out, const struct emit *emit, const char *indent);

/* Shell function `bound CPUS MEMORY COMMAND...`, which execs. `session`: "setsid -- " or "". */
void script_bound(struct strbuf *out, const char *session);

/* "    bound CPUS MEMORY COMMAND..." */
void script_add_bound(struct strbuf *out, const struct emit_worker *worker);

/* "    export NAME=VALUE ...\n" of all variables except `without`, which may be NULL. */
void script_export(struct strbuf *out, const struct emit_worker *worker, const char *without);

/*
 * Shell function `signal NAME`, which signals all workers, and the traps for Ctrl-C, TERM and HUP;
 * `more` are further commands of `signal`, on lines of their own. Then each worker, which `add`
 * starts in a background subshell. Waits for all, and exits with the worst exit code.
 */
void script_workers(struct strbuf *out, const struct emit *emit, const char *more,
                    void (*add)(struct strbuf *out, const struct emit *emit, unsigned w));

#endif
