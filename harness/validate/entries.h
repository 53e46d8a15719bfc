/*
 * Reads a JSON file that a person edits. Errors in an element of its arrays name file and line.
 *
 *   struct entries entries = {.path = path, .what = "waivers", .arg = ...};
 *   rc = entries_open(&entries, &err);               parses the file
 *   rc = entries_read(&entries, NULL, take_waiver);
 *   entries_close(&entries);
 */
#ifndef CONTEND_VALIDATE_ENTRIES_H
#define CONTEND_VALIDATE_ENTRIES_H

#include <jansson.h>

#include "harness/lib/err.h"

struct entries {
    const char *path, *what; /* what: "bounds", for messages */
    void *arg;               /* for the `take` function */

    unsigned line; /* of the current entry */
    char *text;    /* owned, as `whole` */
    size_t size;
    json_t *whole;
    struct err *err;
};

/* Reads and parses the file: errors of reading, and -EINVAL. Close it also after an error. */
int entries_open(struct entries *entries, struct err *err);
void entries_close(struct entries *entries);

/*
 * Calls `take` with each entry of the array of that name, in order; NULL: the file itself is the
 * array. A missing array is empty; -EINVAL if it is not an array. `take` returns 0, -ENOMEM, or the
 * error of entries_unpack or entries_refuse.
 */
int entries_read(struct entries *entries, const char *name,
                 int (*take)(struct entries *entries, json_t *entry));

/* As json_unpack; its error goes to entries_refuse. */
int entries_unpack(const struct entries *entries, json_t *entry, const char *fmt, ...);

/* Sets the error "FILE line 7: " and the sentence; returns -EINVAL. */
int entries_refuse(const struct entries *entries, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
