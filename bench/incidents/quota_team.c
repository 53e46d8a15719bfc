#include "bench/incidents/incidents.h"

const struct incident incident_quota_team = {
    .scenario = {.name = "quota_team",
                 .summary = "a container with --cpus=2 on a large host is slower than one "
                            "that is given two threads",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "barrier=spin;us=16",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "serve: llama-server threads ignore container CPU quota",
            .url = "https://github.com/llmmanorg/llmman/issues/322",
            .date = "2026-08-29",
            .machine = "Ryzen 7 7840U, 16 CPUs, Docker --cpus=2, llama-server b10621: "
                       "16 threads, then 2",
            .figures = "4.1x slower with a quota of 2 CPUs than with as many threads "
                       "as the quota; #485, another machine of 20 CPUs: 2 -> 63 "
                       "tokens/s",
        },
    .differs = "multiplications in place of a model; the quota is a quarter "
               "of the CPUs",
    .cure = "as many threads as the quota has CPUs",
    .variants = {"sick=threads:{cpus}", "sick=cpu-max:{quarter}", "cured=threads:{quarter+}",
                 "cured=cpu-max:{quarter}", NULL},
    .metric = "region_time",
    .doctor = "team_over_quota|throttled",
    .time_s = 0.6,
    .max_time_s = 25,
};
