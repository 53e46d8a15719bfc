/* Texts of a figure in the order in which they came, as blocks of .dat files number them from 0. */
#ifndef CONTEND_SHOW_DATA_NAMES_H
#define CONTEND_SHOW_DATA_NAMES_H

#include <stddef.h>
#include <stdio.h>

enum { NAMES_MOST = 16, NAMES_TEXT = 96 };

struct names {
    size_t n;
    char name[NAMES_MOST][NAMES_TEXT];
};

/* The place of a text, added where it is new; NAMES_MOST where there is no more room. */
size_t names_place(struct names *names, const char *text);

/* The place of a text that is added, whether or not it is new; or NAMES_MOST. */
size_t names_add(struct names *names, const char *text);

/* A block of that name: "number name". */
void names_put(const struct names *names, const char *block, FILE *out);

#endif
