/* Result directories below a directory, such as those that a year of CI has left. */
#ifndef CONTEND_STORE_FILES_BELOW_H
#define CONTEND_STORE_FILES_BELOW_H

#include <stdbool.h>

#include "harness/lib/base/err.h"

/* The files that identify a result; a bit each. */
enum below_mark { BELOW_RUN = 1, BELOW_ROWS = 2, BELOW_VALIDATION = 4 };

/* So deep, and no deeper, below the directory that was named, unless less is asked for. */
enum { BELOW_DEPTH = 8 };

/* Returned by a callback: nothing below this directory is looked at. */
enum { BELOW_ENOUGH = 1 };

struct below_request {
    unsigned marks; /* a directory that holds any of these files is one that is looked for */
    unsigned depth; /* at most BELOW_DEPTH */
    /* Called with each, and the marks that it has. 0, BELOW_ENOUGH, or an error that ends all. */
    int (*found)(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err);
    void *arg;
    bool passes; /* over directories that may not be read; else they are an error */
};

/*
 * Looks through the directory and those below it, by name. Links are not followed but the one that
 * was named; nothing is looked for in plots/ and in names that begin with a dot. 0, what `found`
 * gave, or a negative errno that names the directory.
 */
int below_find(const char *path, const struct below_request *request, struct err *err);

#endif
