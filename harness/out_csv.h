/*
 * rows.csv and samples.csv, as DESIGN.md names their columns. RFC 4180 quoting with plain
 * newlines; numbers as %.9g, an unknown one is an empty cell. What is on disk is valid at any
 * time, also after a full disk or a crash.
 *
 * The process should ignore SIGXFSZ, so that a file size limit is an error and not a signal.
 */
#ifndef CONTEND_OUT_CSV_H
#define CONTEND_OUT_CSV_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/result.h"
#include "harness/row.h"

/*
 * Replaces rows.csv in the directory at once: a reader sees the old file or the new one. Errors:
 * the errno of the call that failed; the old file is then untouched and nothing else is left.
 */
int out_csv_rows(int dir_fd, const struct rows *rows, struct err *err);

/* An open samples.csv. Zeroed = closed. */
struct samples_file {
    bool is_open;
    int fd;
    off_t valid_bytes; /* end of the last complete observation */
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

/* Does nothing when it is closed. An error here means that samples may not be on disk. */
int samples_file_close(struct samples_file *file, struct err *err);

#endif
