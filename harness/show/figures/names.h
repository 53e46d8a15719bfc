/* Texts of a figure in the order of their addition; blocks of .dat files number them from 0. */
#ifndef CONTEND_SHOW_FIGURES_NAMES_H
#define CONTEND_SHOW_FIGURES_NAMES_H

#include <stddef.h>
#include <stdio.h>

enum { NAMES_MOST = 16 };

struct names {
    size_t n;
    const char *name[NAMES_MOST]; /* of the arena */
};

/* Returns the index of `text`, and adds it if it is new; NAMES_MOST: no room. */
size_t names_place(struct names *names, const char *text);

/* Adds `text` even if it is there already. Returns its index; NAMES_MOST: no room. */
size_t names_add(struct names *names, const char *text);

/* Writes the block `block` with the columns "number name". */
void names_put(const struct names *names, const char *block, FILE *out);

#endif
