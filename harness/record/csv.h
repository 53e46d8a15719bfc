/*
 * rows.csv, rounds.csv and samples.csv; results/README.md explains their columns. RFC 4180 quoting
 * with plain newlines. An unknown number is an empty cell. Numbers are written as %.9g, in
 * rounds.csv with enough digits to read back exactly. run_dir.h says when each file is written.
 *
 * The process should ignore SIGXFSZ, so that a file size limit is an error and not a signal.
 */
#ifndef CONTEND_RECORD_CSV_H
#define CONTEND_RECORD_CSV_H

#include <stdio.h>

#include "harness/lib/sys/growing.h"
#include "harness/record/analysis.h"

#define CSV_ROWS_NAME "rows.csv"
#define CSV_ROUNDS_NAME "rounds.csv"
#define CSV_SAMPLES_NAME "samples.csv"

/* Writes a cell, quoted where it must be. */
void csv_put_text(const char *text, FILE *out);

/* In this order in rounds.csv. */
#define CSV_ROUND_COLUMNS                                                                          \
    "run_id,scenario,placement,workers,role,bench,params,device,metric,unit,better,round,value,"   \
    "status,reason"

/* Writes rows.csv and rounds.csv anew. Errors: the errno of the call that failed; the file that it
 * failed for then does not exist. */
int csv_write(int dir_fd, const struct analysis *analysis, struct err *err);

/* Creates rounds.csv or samples.csv, or empties it, and writes the header. */
int csv_open(struct growing_file *file, int dir_fd, const char *name, struct err *err);

/* Appends the values of a round, or none; with the first, also those that have no round. */
int csv_append_round(struct growing_file *file, const struct analysis *analysis, unsigned round,
                     struct err *err);

/* Appends every foreground sample of a round, or none. `iter` is the number of iterations the
 * worker had done before the sample. */
int csv_append_samples(struct growing_file *file, const struct result *result, unsigned round,
                       struct err *err);

#endif
