/* Finds result directories below a directory, such as the results of a year of CI. */
#ifndef CONTEND_RECORD_BELOW_H
#define CONTEND_RECORD_BELOW_H

#include <stdbool.h>

#include "harness/lib/err.h"

/* The files that identify a result; a bit each. */
enum below_mark { BELOW_RUN = 1, BELOW_ROWS = 2, BELOW_VALIDATION = 4 };

/* The greatest depth below the named directory. */
enum { BELOW_DEPTH = 8 };

/* Returned by a callback: skip everything below this directory. */
enum { BELOW_SKIP_CHILDREN = 1 };

struct below_request {
    unsigned marks; /* the search is for directories that hold any of these files */
    unsigned depth; /* at most BELOW_DEPTH */
    /* Called with each such directory and the marks that it has. Returns 0, BELOW_SKIP_CHILDREN, or
     * an error, which ends the search. */
    int (*found)(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err);
    void *arg;
    bool skip_unreadable; /* skip directories that may not be read; false: they are an error */
};

/*
 * Searches the directory and those below it, in the order of names. A symbolic link is followed
 * only if it is `path` itself. plots/ and names that begin with a dot are skipped. Returns 0, the
 * error of `found`, or a negative errno with the directory in the message.
 */
int below_find(const char *path, const struct below_request *request, struct err *err);

#endif
