/* What there is to run, and what cannot run here, as `contend info --json` prints it. */
#ifndef CONTEND_STORE_FORMS_LIST_H
#define CONTEND_STORE_FORMS_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct list_entry {
    const char *name, *summary; /* borrowed */
    bool asked;                 /* whether it can run here */
    char not_here[300];         /* why it cannot; "" = it can */
};

struct list {
    const char *kind; /* "scenarios" */
    size_t n, capacity;
    struct list_entry *entries;
};

/* Adds "KIND": [{"name", "summary", "not_here": text | null}]; what was not asked has no
 * "not_here". */
void list_add_json(json_t *object, const struct list *lists, size_t n);

#endif
