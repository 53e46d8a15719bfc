#include "bench/incidents/incidents.h"

const struct incident incident_weight_load = {
    .scenario = {.name = "weight_load",
                 .summary = "engines of a node load weights for half an hour, or time out "
                            "before they are ready",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "us=64",
                                        .placements = "none", .workers = 4)},
    .reported =
        {
            .title = "Data-parallel startup ignores DP in startup_omp_num_threads, "
                     "causing CPU thread oversubscription and 15x slower weight "
                     "loading",
            .url = "https://github.com/vllm-project/vllm/issues/52330",
            .date = "2026-08-14",
            .machine = "Xeon Platinum 8570, 224 CPUs, vLLM 0.26.1rc1: 4 engines of "
                       "224 threads, then of 56",
            .what = "s, weight load",
            .before = 1822.4,
            .after = 118.3,
            .less_is_better = true,
        },
    .differs = "multiplications in place of weights",
    .cure = "OMP_NUM_THREADS = CPUs / engines",
    .variants = {"sick=threads:{cpus}", "cured=threads:{quarter+}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};
