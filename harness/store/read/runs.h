/* Several results at once: of a directory that is one, or has some below it. */
#ifndef CONTEND_STORE_READ_RUNS_H
#define CONTEND_STORE_READ_RUNS_H

#include "harness/store/files/directory.h"
#include "harness/store/read/recorded.h"

/* Zeroed = none. */
struct runs {
    size_t n, capacity;
    struct run {
        char *path;
        struct recorded *recorded; /* owned; what it holds borrows from where it lies */
    } * all;                       /* owned */
};

/*
 * Appends the result in `path`, or where it is none those in directories below it, by their names
 * in order; what a run was killed in is ended first. Free with runs_free, also after an error,
 * whose message names the path: -ENOENT no result is there, and as recorded_read. Below the path
 * one without a finished round is left out, and said.
 */
int runs_read(const char *path, const struct bench *const *benches,
              directory_remove *remove_figures, struct runs *runs, struct err *err);
/* All but the first n. */
void runs_forget_from(struct runs *runs, size_t n);
void runs_free(struct runs *runs);

#endif
