#include "bench/incidents/incidents.h"

const struct incident incident_quota_serving = {
    .scenario = {.name = "quota_serving",
                 .summary = "an inference server's latency grows fivefold with a new "
                            "version, in a pod with a CPU quota",
                 .parts = INCIDENT_PART(.foreground = "pipeline", .params = "rows=128",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "~2x decode throughput regression for structured outputs since "
                     "#45424",
            .url = "https://github.com/vllm-project/vllm/issues/49013",
            .date = "2026-07-25",
            .machine = "KServe pod with a CPU quota, B300, vLLM 0.25.1, gemma-4-31B, "
                       "guided output; the version before as the cure, as "
                       "OMP_NUM_THREADS is",
            .what = "s, p50 of a request",
            .before = 7.30,
            .after = 1.42,
            .less_is_better = true,
        },
    .differs = "preprocessing and a simulated GPU in place of a model; the "
               "quota is a quarter of the CPUs",
    .cure = "OMP_NUM_THREADS = CPUs of the quota",
    .variants = {"sick=threads:{cpus}", "sick=cpu-max:{quarter}", "cured=threads:{quarter+}",
                 "cured=cpu-max:{quarter}", NULL},
    .metric = "throughput",
    .witness = "throttled_per_step",
    .doctor = "team_over_quota|throttled",
    .time_s = 0.5,
};
