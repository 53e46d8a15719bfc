/* Reads several results: a directory that is a result, or results below a directory. */
#ifndef CONTEND_SHOW_JSON_RUNS_H
#define CONTEND_SHOW_JSON_RUNS_H

#include "harness/record/directory.h"
#include "harness/show/json/recorded.h"

/* Zeroed = none. */
struct runs {
    size_t n, capacity;
    struct run {
        char *path;
        struct recorded *recorded; /* owned; not moved, as its members point into it */
    } * all;                       /* owned */
};

/*
 * Appends the result in `path` or, if that is no result, the results below it in the order of
 * names. directory_recover runs first on each. Errors name the path: -ENOENT no result is there,
 * and those of recorded_read. Below `path`, a result without a finished round is left out with a
 * warning. Free with runs_free, also after an error.
 */
int runs_read(const char *path, const struct bench *const *benches,
              directory_remove *remove_figures, struct runs *runs, struct err *err);
/* Frees all but the first n. */
void runs_forget_from(struct runs *runs, size_t n);
void runs_free(struct runs *runs);

#endif
