/*
 * rows.csv, rounds.csv and samples.csv, as results/README.md explains their columns. RFC 4180
 * quoting with plain newlines; an unknown number is an empty cell, others are written as %.9g, in
 * rounds.csv with as many digits as give the same number again. run_dir.h says how they come to
 * stand beside each other.
 *
 * The process should ignore SIGXFSZ, so that a file size limit is an error and not a signal.
 */
#ifndef CONTEND_STORE_FILES_CSV_H
#define CONTEND_STORE_FILES_CSV_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/rows/analysis.h"

#define CSV_ROWS_NAME "rows.csv"
#define CSV_ROUNDS_NAME "rounds.csv"
#define CSV_SAMPLES_NAME "samples.csv"

/* A cell, quoted where it must be. */
void csv_put_text(const char *text, FILE *out);

/* In this order in rounds.csv. */
#define CSV_ROUND_COLUMNS                                                                          \
    "run_id,scenario,placement,workers,role,bench,params,device,metric,unit,better,round,value,"   \
    "status,reason"

/* Writes rows.csv and rounds.csv anew. Errors: the errno of the call that failed; then the file
 * that it failed for is not there. */
int csv_write(int dir_fd, const struct analysis *analysis, struct err *err);

/* An open samples.csv. Zeroed = closed. */
struct samples_file {
    bool is_open;
    int fd;
    off_t valid_bytes; /* end of the last complete observation: what is behind was cut off */
};

/* Creates samples.csv, or empties it, and writes the header. */
int samples_file_open(struct samples_file *file, int dir_fd, struct err *err);

/*
 * Appends every foreground sample of one observation. `iter` is the number of iterations the
 * worker had done before the sample. Where a write fails (disk full), the file is cut back to the
 * end of the previous observation and stays open, so that a later one may fit again.
 */
int samples_file_append(struct samples_file *file, const struct result *result,
                        const struct arm *arm, const struct observation *observation,
                        struct err *err);

/* Takes back what was appended behind that valid_bytes of before. */
void samples_file_cut(struct samples_file *file, off_t valid_bytes);

/* Brings all that was appended to the disk. */
int samples_file_sync(const struct samples_file *file, struct err *err);

/* Does nothing when it is closed. An error here means that samples may not be on disk. */
int samples_file_close(struct samples_file *file, struct err *err);

#endif
