/*
 * run.json: everything about a run but its samples. results/README.md explains every key.
 *
 * Written when the run starts and after some rounds, with status "interrupted", and again at the
 * end. So a run that dies in between leaves a file that is valid and true.
 */
#ifndef CONTEND_SHOW_JSON_RUN_JSON_H
#define CONTEND_SHOW_JSON_RUN_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "harness/engine/result.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/machine/env.h"
#include "harness/machine/topo.h"
#include "harness/verdict/verdict.h"

/* Raised when a key changes its meaning or is removed; new keys alone do not raise it. */
enum { RUN_SCHEMA_VERSION = 2 };

/* All borrowed. Pointers are NULL if the run has not come that far; their key is then null. */
struct run_record {
    const char *status;           /* "complete", "interrupted" or "failed" */
    const char *version, *commit; /* of this program; commit "" = unknown */
    int argc;                     /* the whole command line, with the program's name */
    char **argv;
    time_t started, ended; /* CLOCK_REALTIME; ended 0 = not yet */
    const struct environment *env;
    const struct topo *topo;
    const struct result *result;
    off_t samples_bytes;           /* of samples.csv that belong to the rounds done */
    const struct verdict *verdict; /* of the rounds done; NULL = none yet */
    const struct opt *run_opts;    /* table and struct of the subcommand's options */
    const void *run_options;
    const char *const *notes; /* NULL-terminated sentences: what a reader should know */
};

/*
 * Writes it to the directory, under that name. The document replaces *written, which the caller
 * owns; or `written` is NULL. Errors: -ENOMEM, and the errors of open, write and
 * close, such as -ENOSPC; then no file of that name exists.
 */
int run_json_write(int dir_fd, const char *name, const struct run_record *record, json_t **written,
                   struct err *err);

/* The same as a document, which the caller owns. NULL: no memory. */
json_t *run_json_make(const struct run_record *record);

/*
 * An arm's first round as events of a trace that chrome://tracing and ui.perfetto.dev show: the
 * "Trace Event Format" of Chromium, complete events (ph X) and names (ph M), times in microseconds.
 *
 * Process 0 is the run, with one event per arm; 1 + N is worker N; TRACE_BACKGROUND + N is
 * background worker N. Thread 0 of a worker shows its steps, with their stages inside. Thread 1 + T
 * shows the CPUs that thread T of its team was sampled on (engine/contract/device.h), each up
 * to the next sample or for 20 ms. The stages of a step are drawn in sequence; each is the sum over
 * the iterations or blocks of the step.
 */

enum { TRACE_BACKGROUND = 100000, TRACE_VISITS = 1 << 15 };

/*
 * Objects with a comma and a newline between them, none at the ends; times count from origin_ns.
 * The caller frees the text; NULL: no memory. Shows at most TRACE_VISITS CPU samples of a worker.
 */
char *trace_events(const struct result *result, const struct arm *arm,
                   const struct observation *observation, uint64_t origin_ns);

#endif
