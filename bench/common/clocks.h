/* Whether ranks can compare timestamps: CLOCK_MONOTONIC_RAW is shared only within one machine. */
#ifndef CONTEND_BENCH_COMMON_CLOCKS_H
#define CONTEND_BENCH_COMMON_CLOCKS_H

#include <stdbool.h>

#include "harness/engine/contract/bench.h"

enum { CLOCKS_ID = 40 };

/* Identifies the clock of this machine until the next boot; "" if unknown. */
void clocks_id(char id[static CLOCKS_ID]);

/* True if all ranks have one clock. Collective, like the calls of peers.h; their errors, and
 * -ENOMEM. */
int clocks_ask(const struct bench_ctx *ctx, bool *is_one);

#endif
