/*
 * Maps strings to numbers: equal strings get the same number, counted from 0 in order of insertion.
 * For tables of millions of lines with some thousand distinct names. Pure, but allocates.
 */
#ifndef CONTEND_VALIDATE_INTERN_H
#define CONTEND_VALIDATE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

/* The number of an unknown string. */
#define INTERN_NONE UINT32_MAX

/* Zeroed = empty. */
struct intern {
    uint32_t n;
    struct intern_entry *entries; /* owned, as the next two */
    char *text;                   /* all strings, each NUL-terminated */
    uint32_t *slots;              /* hash slots (open addressing), nslots: number + 1, 0 = free */
    size_t capacity, used, text_capacity, nslots;
};

/* Adds the string if unknown, and stores its number. It need not end with NUL. Error: -ENOMEM. */
int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *number,
               struct err *err);

/* The string's number; INTERN_NONE: unknown. */
uint32_t intern_find(const struct intern *intern, const char *text, size_t length);

/* The string of that number. Valid until the next intern_add. */
const char *intern_text(const struct intern *intern, uint32_t number);

void intern_free(struct intern *intern);

#endif
