/*
 * Whether results may be compared, by what their run.json says of machine, software and options.
 * What counts is a table in comparable.c; a field that one of both does not have, as in results of
 * earlier versions, counts for nothing.
 */
#ifndef CONTEND_STORE_JSON_COMPARABLE_H
#define CONTEND_STORE_JSON_COMPARABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "harness/contract/finding.h"

struct comparable {
    const char *name;     /* "base", "new" */
    const json_t *record; /* borrowed: its run.json */
};

/* The differences that --allow names, and "all"; ends with NULL. */
extern const char *const comparable_words[];

/* No field of run.json: runs that say of themselves that they are no evidence. */
#define COMPARABLE_BUSY "busy"

/* Whether the list has that word, or "all". */
bool comparable_is_allowed(const char *allowed, const char *word);

/*
 * The others against the first: a finding of each field in which one differs. `refused` gets the
 * sentence that says why there may be no verdict, "" where nothing differs that is not allowed.
 */
int comparable_check(const struct comparable *sides, size_t n, const char *allowed, char *refused,
                     size_t size, struct findings *findings, struct err *err);

/* The metric by which a user's command was compared, ";metric=acc=([0-9.]+)", "" of others: rows do
 * not tell.
 */
char *comparable_format_measure(const json_t *record, char *buf, size_t size);

#endif
