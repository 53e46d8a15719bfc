/*
 * The result of one run: what is written when, and what is left when something breaks.
 *
 * A round is written as a whole or not at all: samples.csv grows, then rows.csv and run.json take
 * the places of those before them. An earlier result in the directory stays until the first round
 * of this one is whole.
 */
#ifndef CONTEND_STORE_RUN_DIR_H
#define CONTEND_STORE_RUN_DIR_H

#include "harness/base/err.h"
#include "harness/rows/row.h"
#include "harness/store/csv.h"
#include "harness/store/directory.h"
#include "harness/store/run_json.h"

/* Zeroed = closed. */
struct output {
    struct out_dir dir;
    struct samples_file samples;
    struct rows rows; /* of the rounds written so far */
};

/* Where: `out`/<subdirectory> or, where `out` is NULL, results/<host>/<utc>-<scenario>. */
struct output_request {
    const char *out, *host, *scenario;
    const char *subdirectory; /* or NULL */
    out_dir_remove *remove_figures;
};

/*
 * Opens the directory. Errors name the path, and are those of out_dir_open and of writing the
 * first, still empty files. Close with output_close, also after an error.
 */
int output_open(struct output *output, const struct output_request *request,
                const struct run_record *record, struct err *err);

/* Writes a round that was done; after an error the files are those of the rounds before it. */
int output_round(struct output *output, const struct run_record *record, unsigned round,
                 struct err *err);

/* Writes the last word to run.json, unless the earlier result is there still. */
int output_end(struct output *output, const struct run_record *record, struct err *err);

void output_close(struct output *output);

#endif
