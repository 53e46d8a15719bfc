/* Reads the answer of NCCL's RAS service into struct ras; it is not trusted. */
#ifndef CONTEND_COMMS_JSON_RAS_H
#define CONTEND_COMMS_JSON_RAS_H

#include <jansson.h>

#include "harness/comms/findings/nvlink_delta.h"
#include "harness/comms/logs/ras.h"

/* Free with ras_free, also after an error. -EPROTO: it is no such answer, or too large; -ENOMEM. */
int ras_from_json(const char *text, size_t size, struct ras *ras, struct err *err);

/*
 * The job as it is now, with what is wrong: {"nccl", "communicators", "not_told", "findings",
 * "nvlink": as moved_to_json (ras.c)}. Without `ras` the first two are null, and not_told is why;
 * else that is null. NULL without memory.
 */
json_t *ras_to_json(const struct ras *ras, const char *not_told,
                    const struct comms_nvlink_delta *nvlink_delta, const struct findings *findings);

#endif
