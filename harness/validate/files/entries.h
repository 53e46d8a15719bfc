/*
 * A JSON file that a person edits: what is wrong with an element of its arrays is reported by file
 * and line.
 *
 *   struct entries entries = {.path = path, .what = "waivers", .arg = ...};
 *   rc = entries_open(&entries, &err);               the whole, parsed
 *   rc = entries_read(&entries, NULL, take_waiver);
 *   entries_close(&entries);
 */
#ifndef CONTEND_VALIDATE_FILES_ENTRIES_H
#define CONTEND_VALIDATE_FILES_ENTRIES_H

#include <jansson.h>

#include "harness/lib/base/err.h"

struct entries {
    const char *path, *what; /* what: "bounds", for messages */
    void *arg;               /* for who takes the entries */

    unsigned line; /* of the entry that is being read */
    char *text;    /* owned, as the next one */
    size_t size;
    json_t *whole;
    struct err *err;
};

/* Reads and parses the file: what reading gives, and -EINVAL. Close it also after an error. */
int entries_open(struct entries *entries, struct err *err);
void entries_close(struct entries *entries);

/*
 * The array of that name, which may be lacking, or with NULL the whole; no array is -EINVAL. `take`
 * is called with each entry, in order: 0, what entries_unpack or entries_refuse give, or -ENOMEM.
 */
int entries_read(struct entries *entries, const char *name,
                 int (*take)(struct entries *entries, json_t *entry));

/* As json_unpack; what it says is wrong is refused. */
int entries_unpack(const struct entries *entries, json_t *entry, const char *fmt, ...);

/* "FILE line 7: " and the sentence; returns -EINVAL. */
int entries_refuse(const struct entries *entries, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
