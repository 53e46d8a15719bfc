/* Reads what csv.h writes: RFC 4180, cell by cell, in place. */
#ifndef CONTEND_RECORD_CSV_READ_H
#define CONTEND_RECORD_CSV_READ_H

#include <stddef.h>

#include "harness/lib/err.h"

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
