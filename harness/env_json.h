/* The environment in JSON. */
#ifndef CONTEND_ENV_JSON_H
#define CONTEND_ENV_JSON_H

#include <jansson.h>

#include "harness/env.h"

/* An object with every key always there. NULL for want of memory. */
json_t *env_to_json(const struct environment *env);

#endif
