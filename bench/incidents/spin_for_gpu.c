#include "bench/incidents/incidents.h"

const struct incident incident_spin_for_gpu = {
    .scenario = {.name = "spin_for_gpu",
                 .summary = "a thread beside the training loop runs a quarter slower while "
                            "the loop only waits for the GPU",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline",
                          .params = "rows=256;gpu_work=200;sim_work_us=25",
                          .placements = "none",
                          .workers = 4},
                         {.foreground = NULL}},
                 .background = "prep",
                 .background_workers = 1},
    .reported =
        {
            .title = "[detailed][cpu eval] Benchmark for CPU Utilization in CPU-GPU "
                     "Event Sync",
            .url = "https://github.com/meta-pytorch/torchrec/pull/4353",
            .machine = "not seen; a spinning event, then one with blocking=True",
            .what = "ms, the side thread",
            .before = 680,
            .after = 532,
            .less_is_better = true,
        },
    .differs = "four loops, a simulated GPU where there is none, and preprocessing on all CPUs as "
               "the side "
               "work",
    .cure = "an event that blocks",
    .variants = {"sick=threads:1", "sick=param:wait=spin", "cured=threads:1",
                 "cured=param:wait=block", NULL},
    .metric = "background_rate",
    .witness = "oncpu_per_step",
    .doctor = "spin_wait|more_threads_than_cpus",
    .max_time_s = 25,
    .on_gpu = true,
};
