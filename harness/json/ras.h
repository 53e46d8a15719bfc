/* What NCCL's RAS service answers -> struct ras. Whoever listens there may send anything. */
#ifndef CONTEND_JSON_RAS_H
#define CONTEND_JSON_RAS_H

#include <jansson.h>

#include "harness/comms/ras.h"

/* Free with ras_free, also after an error. -EPROTO: it is no such answer, or too large; -ENOMEM. */
int ras_from_json(const char *text, size_t size, struct ras *ras, struct err *err);

/* The job as it is now, with what is wrong. NULL without memory. */
json_t *ras_to_json(const struct ras *ras, const struct findings *findings);

#endif
