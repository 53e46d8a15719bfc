/* Compares the dimensions of values with keys. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_DIMS_H
#define CONTEND_TESTS_LIB_FIXTURE_DIMS_H

#include <string.h>

#include "harness/engine/contract/bench.h"

static inline bool stands_at(const struct bench *bench, const struct dims *at, const char *key)
{
    return strcmp(dims_format(bench, at), key) == 0;
}

#endif
