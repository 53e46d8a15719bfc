#include "bench/incidents/incidents.h"

const struct incident incident_cpu_not_disk = {
    .scenario = {.name = "cpu_not_disk",
                 .summary = "accelerators starve as more are added, and storage looks "
                            "guilty at a third of its rate",
                 .parts = INCIDENT_PART(.foreground = "loader",
                                        .params = "mode=process;source=file;gpu_ms=0.5",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Retinanet is cpu bound",
            .url = "https://github.com/mlcommons/storage/issues/490",
            .date = "2026-06-22",
            .machine = "24 cores, 48 CPUs, PCIe 5 storage: 2 to 32 simulated "
                       "accelerators; the least CPU idle 90% -> 0%",
            .what = "%, accelerator use",
            .before = 85.5,
            .after = 97.7,
        },
    .differs = "the cure is work that leaves the CPU, where the report has "
               "fewer accelerators",
    .cure = "preprocessing on the device",
    .variants = {"sick=param:loaders={cpus}", "cured=param:loaders={cpus}", "cured=param:prep=gpu",
                 "tmpfs=param:loaders={cpus}", "tmpfs=param:source=tmpfs", NULL},
    .metric = "batches",
    .witness = "read_rate",
    .doctor = "masks_overlap|run_queue",
    .time_s = 0.3,
    .max_time_s = 30,
};
