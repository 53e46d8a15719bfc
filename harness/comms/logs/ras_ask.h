/* Asks NCCL's RAS service (ras.h) over its socket; nothing there can hold us up or fill memory. */
#ifndef CONTEND_COMMS_LOGS_RAS_ASK_H
#define CONTEND_COMMS_LOGS_RAS_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"

#define RAS_ADDRESS "localhost:28028"
#define RAS_VARIABLE "NCCL_RAS_ADDR"

enum { RAS_ANSWER_MOST = 64 << 20 };

/*
 * The state of the job at `address` ("host:port"): as JSON, or with *json false, before
 * NCCL 2.28.7, as its own text. *answer is owned by the caller and ends with '\0'; *size is without
 * it. Within limit_s: -ETIMEDOUT. -ECONNREFUSED and kin: nobody listens; -EPROTO: it is no such
 * service; -EFBIG: more than RAS_ANSWER_MOST; -EINVAL: no address.
 */
int ras_ask(const char *address, double limit_s, bool *json, char **answer, size_t *size,
            struct err *err);

#endif
