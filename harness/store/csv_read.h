/* Reads what csv.h writes: RFC 4180, cell by cell, in place. */
#ifndef CONTEND_STORE_CSV_READ_H
#define CONTEND_STORE_CSV_READ_H

#include <stddef.h>

#include "harness/base/err.h"

/* Zeroed but for the text, which is changed as it is read; cells point into it. */
struct csv_reader {
    char *at;         /* what is left of the text, ends with 0 */
    const char *name; /* of the file, for errors */
    unsigned line;
};

/* The first line must be these columns: -EINVAL. */
int csv_read_header(struct csv_reader *reader, const char *columns, struct err *err);

/*
 * The next record: 1, 0 behind the last one, or -EINVAL where it has not `n` cells. Control
 * characters in them become spaces.
 */
int csv_read(struct csv_reader *reader, char **cells, size_t n, struct err *err);

#endif
