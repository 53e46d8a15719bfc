#include "bench/incidents/incidents.h"

const struct incident incident_unbound_ranks = {
    .scenario = {.name = "unbound_ranks",
                 .summary = "decoding on a server with many NUMA domains is five times "
                            "slower than on one with two",
                 .parts = INCIDENT_PART(.foreground = "train", .params = "rows=512",
                                        .placements = "none", .workers = 2)},
    .reported =
        {
            .title = "fix(trtllm): add numa_cpu_bind to bind worker ranks per NUMA "
                     "domain",
            .url = "https://github.com/NVIDIA/srt-slurm/pull/332",
            .date = "2026-08-22",
            .machine = "B300, EPYC 9575F, 8 NUMA domains, 8 ranks of TensorRT-LLM: "
                       "unbound, then --cpu-bind=rank_ldom",
            .what = "ms, p50 of decoding",
            .before = 70.4,
            .after = 14.1,
            .less_is_better = true,
        },
    .differs = "a stand-in for a model; the report does not show whether "
               "memory or teams of threads are the cause",
    .cure = "each rank bound to its NUMA node",
    .variants = {"sick=placement:none", "cured=placement:numa", NULL},
    .metric = "step_time",
    .doctor = "more_threads_than_cpus|far_pages|run_queue",
    .least_nodes = 2,
};
