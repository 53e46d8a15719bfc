/* The result directory of one run: what is written when, and what is left when something breaks. */
#ifndef CONTEND_OUTPUT_H
#define CONTEND_OUTPUT_H

#include "harness/core/err.h"
#include "harness/out_csv.h"
#include "harness/out_json.h"
#include "harness/row.h"

struct output {
    char path[4096];
    int dir_fd; /* -1 = not open */
    struct samples_file samples;
    struct rows rows; /* of the rounds finished so far */
};

/*
 * Creates the directory (and its parents) and the first, still empty files. `--out DIR` or, where
 * `out` is NULL, results/<host>/<utc>-<scenario>; `subdirectory` goes behind it or is NULL. Errors
 * name the path. Of an earlier run in that directory its figures go, too. Close with output_close,
 * also after an error.
 */
int output_open(struct output *output, const char *out, const char *host, const char *scenario,
                const char *subdirectory, const struct run_record *record, struct err *err);

/* Appends the samples of one finished round and writes rows.csv anew. */
int output_round(struct output *output, const struct result *result, unsigned round,
                 struct err *err);

/* Writes the last word to run.json. */
int output_end(struct output *output, const struct run_record *record, struct err *err);

void output_close(struct output *output);

#endif
