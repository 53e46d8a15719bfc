/*
 * The result of one run: what is written when, and what remains after an error.
 *
 * A round is appended to samples.csv and rounds.csv as a whole or not at all. run.json is replaced
 * where there is a verdict: it costs as much as all rounds so far, so that it cannot be each round.
 * The end writes rounds.csv anew, ordered by configuration, with each value against the baseline of
 * the whole run, and rows.csv. An earlier result in the directory stays until the first round of
 * this run is complete.
 */
#ifndef CONTEND_CMD_SESSION_RUN_DIR_H
#define CONTEND_CMD_SESSION_RUN_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/file.h"
#include "harness/record/csv.h"
#include "harness/record/directory.h"
#include "harness/show/json/run_json.h"

/* Zeroed = closed. */
struct run_dir {
    struct directory dir;
    struct growing_file samples, rounds;
    json_t *written; /* owned: the run.json that was written last, or NULL */
};

/* The path: `out`/<subdirectory> or, if `out` is NULL, results/<host>/<utc>-<scenario>. */
struct run_dir_request {
    const char *out, *host, *scenario;
    const char *subdirectory; /* or NULL */
    bool force;               /* an earlier run of another command may be replaced */
    directory_remove *remove_figures;
};

/*
 * Opens the directory. Errors name the path, and are those of directory_open and of writing the
 * first, still empty files; -EEXIST, too, for an earlier run of another command. Close with
 * run_dir_close, also after an error.
 */
int run_dir_open(struct run_dir *run_dir, const struct run_dir_request *request,
                 const struct run_record *record, struct err *err);

/* Appends a finished round, and writes run.json if the record has a verdict; that of the first
 * round must. After an error the files are those of the rounds before it. */
int run_dir_round(struct run_dir *run_dir, const struct run_record *record, unsigned round,
                  struct err *err);

/* Writes `json`, which is then its own, beside the files; `name` is one that belongs to a result.
 * NULL: no memory. */
int run_dir_add(struct run_dir *run_dir, const char *name, json_t *json, struct err *err);

/* Writes the final tables and run.json, unless the earlier result is still there. */
int run_dir_end(struct run_dir *run_dir, const struct run_record *record, struct err *err);

void run_dir_close(struct run_dir *run_dir);

/*
 * The file of --trace: one JSON object that is complete after every call, so that an interrupted
 * run leaves a valid trace.
 *
 *   rc = trace_file_open(&file, path, &err);           the file is an empty trace
 *   rc = trace_file_append(&file, events, size, &err); of trace_events (show/json/run_json.h); ...
 *   rc = trace_file_close(&file, &err);                 also if it is not open
 */

/* Zeroed = closed. */
struct trace_file {
    bool is_open;
    int fd;
    off_t end;        /* of the last event */
    bool any;         /* the file has an event */
    const char *path; /* borrowed, for messages */
};

/*
 * Creates the file, or empties an existing one. -EINVAL: it is no regular file (a device, a pipe),
 * and stays as it is; -ELOOP: it is a symbolic link; or another negative errno. Errors name it.
 */
int trace_file_open(struct trace_file *file, const char *path, struct err *err);

/* Appends events. 0, or a negative errno such as -ENOSPC: then the file is as it was before. */
int trace_file_append(struct trace_file *file, const char *events, size_t size, struct err *err);

int trace_file_close(struct trace_file *file, struct err *err);

#endif
