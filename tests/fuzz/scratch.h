/* For targets whose reader takes files: a directory in memory, removed when the process ends. */
#ifndef CONTEND_TESTS_FUZZ_SCRATCH_H
#define CONTEND_TESTS_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

/* Its path and its descriptor. The first call makes the directory. */
const char *scratch_path(void);
int scratch_fd(void);

/* Writes a file "name" or "directory/name", one level deep. data NULL removes the file. */
void scratch_put(const char *name, const uint8_t *data, size_t size);

/* The next part of an input whose parts are separated by the byte 0x1e; NULL after the last one. */
const uint8_t *scratch_next_part(const uint8_t **data, size_t *left, size_t *size);

/* Aborts if a reader refuses without a message, or if its code differs from err->code. */
void check_refusal(int rc, const struct err *err);

#endif
