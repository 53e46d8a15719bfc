/*
 * Finds the known name that an unknown name probably means. Offer all known names, then ask:
 *
 *   struct similar near = similar_to(typed, strlen(typed));
 *   for (...)
 *       similar_offer(&near, name);
 *   err_set(err, -EINVAL, "unknown scenario '%s'%s known: ...", typed,
 *           similar_hint(&near, ""));
 */
#ifndef CONTEND_LIB_SIMILAR_H
#define CONTEND_LIB_SIMILAR_H

#include <stddef.h>

#include "harness/lib/err.h"

enum { SIMILAR_NAME_MAX = 64 };

/*
 * Damerau-Levenshtein distance (optimal string alignment): number of characters to insert, delete,
 * replace or swap with their neighbour. Ignores case. SIMILAR_NAME_MAX if a name has that many
 * characters or more.
 * Source: Damerau 1964, "A technique for computer detection and correction of spelling errors".
 */
unsigned similar_distance(const char *a, size_t a_length, const char *b, size_t b_length);

struct similar {
    const char *typed; /* borrowed, as is `name` */
    size_t length;
    const char *name; /* the nearest name that is near enough; NULL = none */
    unsigned distance;
};

struct similar similar_to(const char *typed, size_t length);

/*
 * A name is near enough with one mistake per three typed characters, at most three. It also is if
 * the typed word (2 characters or more) begins it, if it (3 or more) begins the typed word, or if
 * it contains the typed word (4 or more). Of equally near names the first is kept.
 */
void similar_offer(struct similar *near, const char *name);

/* "; did you mean '--workers'?" with `prefix` "--"; ";" if no name is near. */
const char *similar_hint(const struct similar *near, const char *prefix);

/* Returns -EINVAL; the message names the option, the value, a similar value, and all known ones. */
int similar_refuse(const char *option, const char *value, size_t length, const char *const *known,
                   struct err *err);

/* Checks each word of a comma-separated list; NULL is fine. -EINVAL, as similar_refuse. */
int similar_check_list(const char *option, const char *list, const char *const *known,
                       struct err *err);

#endif
