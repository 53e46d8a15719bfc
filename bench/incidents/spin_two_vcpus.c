#include "bench/incidents/incidents.h"

const struct incident incident_spin_two_vcpus = {
    .scenario = {.name = "spin_two_vcpus",
                 .summary = "tests that take a minute elsewhere run into their limit of 15 "
                            "minutes on small CI machines",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "us=64",
                                        .placements = "none", .workers = 8)},
    .reported =
        {
            .title = "ggml-cpu : yield in ggml_barrier after a short spin",
            .url = "https://github.com/ggml-org/llama.cpp/pull/29258",
            .date = "2026-09-22",
            .machine = "Windows runners of 2 vCPUs: 8 pools of 2 threads each",
            .figures = "beyond 900 s on 2 vCPUs, 55 s on other machines of 4",
        },
    .differs = "eight processes on Linux in place of eight contexts on "
               "Windows",
    .cure = "sched_yield after a short spin",
    .variants = {"sick=param:barrier=spin", "sick=threads:{cpus}", "cured=param:barrier=yield",
                 "cured=threads:{cpus}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};
