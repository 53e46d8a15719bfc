#include "bench/registry.h"

#include <stddef.h>

#define BENCH_ENTRY(name) &bench_##name,

const struct bench *const bench_registry[] = {BENCH_LIST(BENCH_ENTRY) NULL};
