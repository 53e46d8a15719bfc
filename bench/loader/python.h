/* Python interpreters, and the programs that they run: bench/loader/python/batches.py and
 * interpreter_lock.py. */
#ifndef CONTEND_BENCH_LOADER_PYTHON_H
#define CONTEND_BENCH_LOADER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"

enum { PYTHON_PATH_MAX = 512 };

/* Exit codes of batches.py. */
enum { PYTHON_NO_TORCH = 3, PYTHON_HAS_LOCK = 4 };

struct python {
    char path[PYTHON_PATH_MAX]; /* "" = none */
    bool has_lock;              /* the interpreter's */
    bool has_torch;
};

/* Texts of the two files, which the build embeds. */
extern const char loader_batches_py[], loader_interpreter_lock_py[];

/*
 * Finds the interpreter that `name` in PATH runs, by asking it: `name` may be a script that chooses
 * an interpreter. -ENOTSUP: there is none, or it does not answer.
 */
int python_find(const char *name, struct python *python, struct err *err);

/*
 * Runs words[0] with arguments words[1..], up to NULL, and reads its output into answer[size].
 * -EIO: the program failed, printed more, or took much longer than expected_s.
 */
int python_run(const char *const *words, double expected_s, char *answer, size_t size,
               struct err *err);

/* Finds the first interpreter without a lock in PATH, by its name: python3.13t and later. */
int python_find_free(struct python *python, struct err *err);

#endif
