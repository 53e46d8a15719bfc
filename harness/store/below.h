/* Result directories below a directory, such as those that a year of CI has left. */
#ifndef CONTEND_STORE_BELOW_H
#define CONTEND_STORE_BELOW_H

#include "harness/base/err.h"

/* So deep, and no deeper, below the directory that was named. */
enum { BELOW_DEPTH = 8 };

/* Called with each; what it returns, where it is not 0, ends the search. */
typedef int below_found(void *arg, const char *path, int dir_fd, struct err *err);

/*
 * Calls `found` for the directory and each below it that holds a run.json, by name. Links are not
 * followed but the one that was named; nothing is looked for in plots/ and in names that begin with
 * a dot. 0, what `found` gave, or a negative errno that names the directory.
 */
int below_find(const char *path, below_found *found, void *arg, struct err *err);

#endif
