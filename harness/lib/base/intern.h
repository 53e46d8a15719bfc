/*
 * Strings as small numbers: equal strings have one number, from 0 in the order in which they came.
 * For tables of millions of lines that name some thousand things. Pure.
 */
#ifndef CONTEND_LIB_BASE_INTERN_H
#define CONTEND_LIB_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

/* The number of a string that is not there. */
#define INTERN_NONE UINT32_MAX

/* Zeroed = empty. */
struct intern {
    uint32_t n;
    struct intern_entry *entries; /* owned, as the next two */
    char *text;                   /* of all strings, each with its 0 */
    uint32_t *planned_workers;    /* open addressing, a power of two; number + 1, 0 = free */
    size_t capacity, used, text_capacity, nslots;
};

/* The number of that string, which need not end with a 0: -ENOMEM only. */
int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *number,
               struct err *err);

/* INTERN_NONE: it is not there. */
uint32_t intern_find(const struct intern *intern, const char *text, size_t length);

/* Valid until the next intern_add. */
const char *intern_text(const struct intern *intern, uint32_t number);

void intern_free(struct intern *intern);

#endif
