/* --fail-on of what compares: which outcomes are a failure. */
#ifndef CONTEND_CMD_FAIL_ON_H
#define CONTEND_CMD_FAIL_ON_H

#include <stdbool.h>

#include "harness/base/err.h"
#include "harness/judge/comparison.h"

struct fail_on {
    bool slower, unclear, missing;
};

/* "slower,unclear"; NULL = none. -EINVAL names what is none of them. */
int fail_on_parse(const char *text, struct fail_on *fail_on, struct err *err);

/*
 * EXIT_VERDICT where one that gates is one of these, else EXIT_INCONCLUSIVE where nothing that
 * gates was decided, else EXIT_GOOD.
 */
int fail_on_code(const struct fail_on *fail_on, const struct comparisons *comparisons);

#endif
