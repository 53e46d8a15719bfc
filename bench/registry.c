#include "bench/registry.h"

#include <stddef.h>

#define BENCH_ENTRY(name, family) &bench_##name,
#define FAMILY_ENTRY(name, family) family,

const struct bench *const bench_registry[] = {BENCH_LIST(BENCH_ENTRY) NULL};
const char *const bench_families[] = {BENCH_LIST(FAMILY_ENTRY)};
