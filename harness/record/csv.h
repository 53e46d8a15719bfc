/*
 * rows.csv, rounds.csv and samples.csv; results/README.md explains their columns. RFC 4180 quoting
 * with plain newlines. An unknown number is an empty cell. Numbers are written as %.9g, in
 * rounds.csv with enough digits to read back exactly. run_dir.h says when each file is written.
 *
 * The process should ignore SIGXFSZ, so that a file size limit is an error and not a signal.
 */
#ifndef CONTEND_RECORD_CSV_H
#define CONTEND_RECORD_CSV_H

#include <stddef.h>
#include <stdio.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/file.h"
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

/* Reads what csv.h writes: RFC 4180, cell by cell, in place. */
struct csv_reader {
    char *at;            /* the rest of the text, ends with 0 */
    const char *name;    /* of the file, for errors */
    unsigned line;       /* first line of the record that was read last, from 1 */
    unsigned lines_read; /* lines that were read */
};

/*
 * Starts to read a text of `size` bytes with a 0 after it. Reading changes the text, and cells
 * point into it. -EINVAL: the first line is not `columns`, or the text is empty or has a 0 within.
 */
int csv_read_header(struct csv_reader *reader, const char *name, char *text, size_t size,
                    const char *columns, struct err *err);

/*
 * Reads the next record: 1, 0 after the last record, or -EINVAL if it does not have `n` cells.
 * Control characters in cells become spaces.
 */
int csv_read(struct csv_reader *reader, char **cells, size_t n, struct err *err);

/* Sets err to "rows.csv, line 17: " and the sentence, for the record that was read last. Returns
 * -EINVAL. */
int csv_refuse(const struct csv_reader *reader, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* A cell as a number, NaN if it is empty; -EINVAL: not a number, or not finite. */
int csv_number(const struct csv_reader *reader, const char *column, const char *cell, double *value,
               struct err *err);

/* A cell as a whole number from 0 to `most`; -EINVAL: it is something else. */
int csv_count(const struct csv_reader *reader, const char *column, const char *cell,
              unsigned long long most, unsigned long long *count, struct err *err);

#endif
