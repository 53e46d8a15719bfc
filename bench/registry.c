#include "bench/registry.h"

#include <stddef.h>

const struct bench *const bench_registry[] = {
    &bench_pipeline,
    NULL,
};
