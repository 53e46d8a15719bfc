/* For targets whose reader takes files: a directory in memory, which goes with the process. */
#ifndef CONTEND_TESTS_FUZZ_SCRATCH_H
#define CONTEND_TESTS_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

/* Its path, and its descriptor. Made where it is not there yet. */
const char *scratch_path(void);
int scratch_fd(void);

/* A file "name" or "directory/name", one level deep; data NULL: it is taken away. */
void scratch_put(const char *name, const uint8_t *data, size_t size);

/* The next part of an input of parts with the byte 0x1e between them; NULL behind the last one. */
const uint8_t *scratch_next_part(const uint8_t **data, size_t *left, size_t *size);

/* Ends the process where a reader refuses without a word, or says another code than it gives. */
void check_refusal(int rc, const struct err *err);

#endif
