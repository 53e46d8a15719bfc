/*
 * Whether results may be compared, by what their run.json says of machine, software and options. A
 * table in comparable.c lists the fields that count. A field that one of the results lacks, as in
 * results of earlier versions, does not count.
 */
#ifndef CONTEND_SHOW_JSON_COMPARABLE_H
#define CONTEND_SHOW_JSON_COMPARABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "harness/lib/finding.h"

struct comparable {
    const char *name;     /* "base", "new" */
    const json_t *record; /* borrowed: its run.json */
};

/* The differences that --allow names, and "all"; ends with NULL. */
extern const char *const comparable_words[];

/* Not a field of run.json: allows runs that report themselves as unusable evidence. */
#define COMPARABLE_BUSY "busy"

/* Whether the list has that word, or "all". */
bool comparable_is_allowed(const char *allowed, const char *word);

/*
 * Compares every side with the first, and adds a finding for each field in which a side differs.
 * `refused` gets the sentence that says why no verdict is possible; "" if all differences are
 * allowed.
 */
void comparable_check(const struct comparable *sides, size_t n, const char *allowed, char *refused,
                      size_t size, struct findings *findings);

/* The options that define the metric of a user's command, ";metric=acc=([0-9.]+)", which rows do
 * not hold; "" for other runs. Returns buf. */
const char *comparable_format_measure(const json_t *record);

#endif
