#include "bench/incidents/incidents.h"

const struct incident incident_spin_barrier = {
    .scenario = {.name = "spin_barrier",
                 .summary = "more threads than cores, and a token takes eight seconds at "
                            "full power",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "us=64",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "ggml: Implement yield barrier using futex for improved thread "
                     "scheduling efficiency (a comment)",
            .url = "https://github.com/ggml-org/llama.cpp/pull/13079",
            .date = "2026-08-02",
            .machine = "Raspberry Pi 5, 4 cores, llama.cpp d73c1d6, qwen0.5b Q4_K_M, "
                       "8 threads: own spin barrier, then that of libgomp",
            .what = "tokens/s",
            .before = 0.12,
            .after = 10.13,
        },
    .differs = "multiplications in place of a model; no energy is measured",
    .cure = "a barrier that sleeps, as that of libgomp",
    .variants = {"sick=param:barrier=spin", "sick=threads:{2cpus}", "cured=param:barrier=omp",
                 "cured=threads:{2cpus}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};
