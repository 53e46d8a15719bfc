#include <stddef.h>

#include "bench/registry.h"

const struct scenario scenario_registry[] = {
    {
        .name = "pipeline",
        .summary = "workers that each preprocess on the CPU and feed a GPU of their own",
        .foreground = "pipeline",
        .placements = "none,sized,same,partition",
        .optional = "cores,llc,numa,gpu-local,remote,pcores",
    },
    {.name = NULL},
};
