/* What became of several scenarios, as JSON. */
#ifndef CONTEND_STORE_FORMS_COLLECTION_H
#define CONTEND_STORE_FORMS_COLLECTION_H

#include <jansson.h>

#include "harness/verdict/odd/collection.h"

/*
 * {"host", "command", "started", "scenarios": [{"scenario", "status", "says": text | null,
 * "rounds", "rounds_planned", "took_s", "doubts", "bad", "rows": what `contend run --json` prints
 * of it | null}]}. `rows`, NULL or one of each scenario, is only read.
 */
json_t *collection_to_json(const struct collection *collection, json_t *const *rows);

#endif
