/* What there is to run, and what cannot run here, as `contend list --json` prints it. */
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
    size_t n;
    struct list_entry *entries;
};

/* {"KIND": [{"name", "summary", "not_here": text | null}]}; what was not asked has no "not_here".
 */
json_t *list_to_json(const char *const *kinds, const struct list *lists, size_t n);

#endif
