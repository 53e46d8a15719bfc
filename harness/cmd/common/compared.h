/* Shared by the commands that compare: --fail-on, their exit code, and files for others. */
#ifndef CONTEND_CMD_COMMON_COMPARED_H
#define CONTEND_CMD_COMMON_COMPARED_H

#include "harness/lib/base/err.h"
#include "harness/verdict/pairs/comparison.h"

/* Those words, for shells; ends with NULL. */
extern const char *const compared_fail_on[];

/* "slower,unclear,missing", or "none". -EINVAL names an invalid word. */
int compared_check_fail_on(const char *fail_on, struct err *err);

/*
 * EXIT_VERDICT where one that gates is as --fail-on says, else EXIT_INCONCLUSIVE where nothing that
 * gates was decided, else EXIT_GOOD.
 */
int compared_code(const struct comparisons *comparisons, const char *fail_on);

/* Those that gate, each a test of that suite, into the file. Errors name it. */
int compared_write_junit(const struct comparisons *comparisons, const char *suite, const char *path,
                         struct err *err);

#endif
