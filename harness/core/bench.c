#include "harness/core/bench.h"

#include <string.h>

const char *device_name(enum device device)
{
    static const char *const names[] = {"none", "sim", "cuda"};
    return names[device];
}

const struct bench *bench_find(const struct bench *const *benches, const char *name)
{
    for (; *benches; benches++)
        if (strcmp((*benches)->name, name) == 0)
            return *benches;
    return NULL;
}
