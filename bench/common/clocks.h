/* Whether ranks can compare moments: CLOCK_MONOTONIC_RAW is one clock on one machine alone. */
#ifndef CONTEND_BENCH_COMMON_CLOCKS_H
#define CONTEND_BENCH_COMMON_CLOCKS_H

#include <stdbool.h>

#include "harness/contract/bench.h"

enum { CLOCKS_ID = 40 };

/* Names the clock of this machine until it boots again; "" where the system does not tell. */
void clocks_id(char id[static CLOCKS_ID]);

/* A call of all ranks, as those of peers.h: whether they have one clock. */
int clocks_ask(const struct bench_ctx *ctx, bool *is_one);

#endif
