/* Interpreters of Python, and the texts that they get: bench/loader/batches.py and
 * interpreter_lock.py. */
#ifndef CONTEND_BENCH_LOADER_PYTHON_H
#define CONTEND_BENCH_LOADER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"

enum { PYTHON_PATH_MAX = 512 };

/* Exit codes of batches.py. */
enum { PYTHON_NO_TORCH = 3, PYTHON_HAS_LOCK = 4 };

struct python {
    char path[PYTHON_PATH_MAX]; /* "" = none */
    bool has_lock;              /* the interpreter's */
    bool has_torch;
};

/* In the program; the build makes them of the files. */
extern const char loader_batches_py[], loader_interpreter_lock_py[];

/*
 * The interpreter behind `name` in PATH, as it says itself: a name may stand for a script that
 * chooses one. -ENOTSUP where there is none, or it does not answer.
 */
int python_find(const char *name, struct python *python, struct err *err);

/*
 * Starts words[0] with the arguments behind it, until NULL, and reads what it prints. -EIO: it
 * failed, printed more than that, or took much longer than expected_s.
 */
int python_run(const char *const *words, double expected_s, char *answer, size_t size,
               struct err *err);

/* The first one in PATH without a lock, of those that are named so, python3.13t and later. */
int python_find_free(struct python *python, struct err *err);

#endif
