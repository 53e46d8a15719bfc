#include "bench/incidents/incidents.h"

const struct incident incident_cpuset_team = {
    .scenario = {.name = "cpuset_team",
                 .summary = "one token every few seconds in a container with a cpuset, all of its "
                            "CPUs busy",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "barrier=spin;us=64",
                                        .placements = "none", .workers = 1)},
    .reported = {.title = "Default n_threads ignores cgroup CPU quota and cpuset: ~45x throughput "
                          "collapse in CPU-limited containers",
                 .url = "https://github.com/ollama/ollama/issues/17916",
                 .date = "2026-08-21",
                 .machine = "8 vCPU EPYC 7543P, cpuset 0-3, Ollama 0.32.15, llama3.2:3b q4; 8 "
                            "threads, then 4",
                 .what = "tokens/s",
                 .before = 0.27,
                 .after = 12.07},
    .differs = "multiplications in place of a model; the CPUs of this machine are the cpuset",
    .cure = "as many threads as the cpuset has CPUs",
    .variants = {"sick=threads:{2cpus}", "cured=threads:{cpus}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};
