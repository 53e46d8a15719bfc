/*
 * Shared by the shell scripts of emit/: they refuse CPUs that are not allowed, start all
 * workers, stop all on Ctrl-C, and end with the worst exit code. Written for POSIX sh.
 */
#ifndef CONTEND_PLAN_EMIT_SCRIPT_H
#define CONTEND_PLAN_EMIT_SCRIPT_H

#include "harness/plan/emit/parts.h"

/* "#!/bin/sh", what the plan is, and lines that say how to use it (may be ""; each "# ...\n"). */
void script_begin(struct strbuf *out, const struct emit *emit, const char *usage);

/* The functions that refuse CPUs; with `calls` also a call for each slice of the plan. */
void script_allowed(struct strbuf *out, const struct emit *emit, bool calls);

/* Unsets what workers must not inherit; `indent` is that of its line. */
void script_unset(struct strbuf *out, const struct emit *emit, const char *indent);

/* Function `bound CPUS MEMORY COMMAND...`, which execs: `session` is "setsid -- " or "". */
void script_bound(struct strbuf *out, const char *session);

/*
 * Function `signal NAME` to all workers, and what Ctrl-C does. `more` are further commands of
 * `signal`, in lines of their own.
 */
void script_signals(struct strbuf *out, const char *more);

/* Around what starts worker w: a subshell in the background. */
void script_worker_begin(struct strbuf *out, const struct emit *emit, unsigned w);
void script_worker_end(struct strbuf *out);

/* "    export NAME=VALUE ...\n", of all variables but the one `without`, which may be NULL. */
void script_export(struct strbuf *out, const struct emit_worker *worker, const char *without);

/* Waits for all, and exits. */
void script_end(struct strbuf *out);

#endif
