#include <stddef.h>

#include "bench/registry.h"

static const struct scenario_part pipeline_parts[] = {
    {
        .foreground = "pipeline",
        .placements = "none,sized,same,partition",
        .optional = "cores,llc,numa,gpu-local,remote,pcores",
    },
    {.foreground = NULL},
};

const struct scenario scenario_registry[] = {
    {
        .name = "pipeline",
        .summary = "workers that each preprocess on the CPU and feed a GPU of their own",
        .parts = pipeline_parts,
    },
    {.name = NULL},
};
