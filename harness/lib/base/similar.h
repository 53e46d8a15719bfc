/*
 * Which name was probably meant by one that is not known. Offer those that are, then ask:
 *
 *   struct similar near = similar_to(typed, strlen(typed));
 *   for (...)
 *       similar_offer(&near, name);
 *   err_set(err, -EINVAL, "unknown scenario '%s'%s known: ...", typed,
 *           similar_hint(&near, "", hint, sizeof(hint)));
 */
#ifndef CONTEND_LIB_BASE_SIMILAR_H
#define CONTEND_LIB_BASE_SIMILAR_H

#include <stddef.h>

#include "harness/lib/base/err.h"

enum { SIMILAR_NAME_MAX = 64, SIMILAR_HINT_MAX = SIMILAR_NAME_MAX + 32 };

/*
 * Damerau-Levenshtein distance (optimal string alignment): how many characters are to be inserted,
 * left out, replaced or swapped with their neighbour. Capitals are like small letters. Names of
 * SIMILAR_NAME_MAX characters and more are told apart no further: SIMILAR_NAME_MAX.
 * Source: Damerau 1964, "A technique for computer detection and correction of spelling errors".
 */
unsigned similar_distance(const char *a, size_t a_length, const char *b, size_t b_length);

struct similar {
    const char *typed; /* borrowed, as the names are */
    size_t length;
    const char *name; /* the nearest one that is near enough; NULL = none */
    unsigned distance;
};

struct similar similar_to(const char *typed, size_t length);

/*
 * Near enough is one mistake in every three characters, at most three. The typed word may also be
 * the beginning of a name, from two characters on, or begin as a name of three and more does, or,
 * from four characters on, stand within a name. Among equals the first is kept.
 */
void similar_offer(struct similar *near, const char *name);

/* "; did you mean '--workers'?" with `prefix` "--", or ";" where nothing is near. Returns buf. */
char *similar_hint(const struct similar *near, const char *prefix, char *buf, size_t size);

/* -EINVAL: the option has no such value; what was probably meant, and those that it has. */
int similar_refuse(const char *option, const char *value, size_t length, const char *const *known,
                   struct err *err);

/* Whether each word of a list with commas is known; NULL is fine. */
int similar_check_list(const char *option, const char *list, const char *const *known,
                       struct err *err);

#endif
