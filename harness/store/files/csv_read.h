/* Reads what csv.h writes: RFC 4180, cell by cell, in place. */
#ifndef CONTEND_STORE_FILES_CSV_READ_H
#define CONTEND_STORE_FILES_CSV_READ_H

#include <stddef.h>

#include "harness/lib/base/err.h"

struct csv_reader {
    char *at;         /* what is left of the text, ends with 0 */
    const char *name; /* of the file, for errors */
    unsigned line;    /* where the record that was read last begins, from 1 */
    unsigned ended;   /* lines that were read */
};

/*
 * Of a text of `size` bytes with a 0 behind it, which is changed as it is read; cells point into
 * it. The first line must be these columns: -EINVAL.
 */
int csv_read_header(struct csv_reader *reader, const char *name, char *text, size_t size,
                    const char *columns, struct err *err);

/*
 * The next record: 1, 0 behind the last one, or -EINVAL where it has not `n` cells. Control
 * characters in them become spaces.
 */
int csv_read(struct csv_reader *reader, char **cells, size_t n, struct err *err);

/* "rows.csv, line 17: " and the sentence, of the record that was read last. Returns -EINVAL. */
int csv_refuse(const struct csv_reader *reader, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* A cell as a number, NaN where it is empty; -EINVAL: it is none, or not finite. */
int csv_number(const struct csv_reader *reader, const char *column, const char *cell, double *value,
               struct err *err);

/* A cell as a whole number of at most `most`; -EINVAL: it is none, or more. */
int csv_count(const struct csv_reader *reader, const char *column, const char *cell,
              unsigned long long most, unsigned long long *count, struct err *err);

#endif
