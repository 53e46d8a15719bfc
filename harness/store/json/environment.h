/* The environment in JSON. */
#ifndef CONTEND_STORE_JSON_ENVIRONMENT_H
#define CONTEND_STORE_JSON_ENVIRONMENT_H

#include <jansson.h>

#include "harness/machine/facts/env.h"

/* An object with every key always there. NULL for want of memory. */
json_t *env_to_json(const struct environment *env);

#endif
