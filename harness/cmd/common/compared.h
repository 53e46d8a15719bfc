/* Shared by the commands that compare: --fail-on, exit code, JUnit files, and the title of pages.
 */
#ifndef CONTEND_CMD_COMMON_COMPARED_H
#define CONTEND_CMD_COMMON_COMPARED_H

#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/verdict/comparison.h"

/* The words of --fail-on, also for completions; ends with NULL. */
extern const char *const compared_fail_on[];

/* Checks a list such as "slower,unclear,missing", or "none". -EINVAL: names an invalid word. */
int compared_check_fail_on(const char *fail_on, struct err *err);

/*
 * EXIT_VERDICT if a gating metric has an outcome of --fail-on; else EXIT_INCONCLUSIVE if no gating
 * metric was decided; else EXIT_GOOD.
 */
int compared_code(const struct comparisons *comparisons, const char *fail_on);

/* Writes each gating metric as a test of that suite, in JUnit's format. Errors name the file. */
int compared_write_junit(const struct comparisons *comparisons, const char *suite, const char *path,
                         struct err *err);

/* The command as it was typed, cut: "contend compare BASE NEW", "contend compare BASE... --
 * NEW...", of which the first `nbase` paths are BASE; nbase = n: without "--". */
const char *compared_title(const char *const *paths, size_t n, size_t nbase);

#endif
