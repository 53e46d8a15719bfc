#include "bench/incidents/incidents.h"

const struct incident incident_shared_core = {
    .scenario = {.name = "shared_core",
                 .summary = "two processes on one core are slower than a half each",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "cache_thrash",
                          .params = "victim=l2;aggressor=stream;aggressors=1",
                          .placements = "none",
                          .workers = 1},
                         {.foreground = NULL}}},
    .reported =
        {
            .title = "GPU processes slowed down by their CPU work, and taskset as "
                     "the cure (in Japanese)",
            .url = "https://blog.qualiteg.com/gpu-system-cpu-bottleneck-taskset",
            .machine = "several processes on the first core of a server",
            .figures = "caches that each process wipes for the other at a switch; no "
                       "figures",
        },
    .differs = "two threads in place of two processes, so the TLB stays; CPU "
               "time alone is compared, so that the half that each gets is "
               "not in the ratio",
    .cure = "a core for each",
    .variants = {"sick=param:where=turns", "cured=param:where=other", NULL},
    .metric = "access_time",
    .doctor = "masks_overlap|narrow_mask|idle_beside_queue|leader_alone|run_queue",
    .time_s = 0.3,
    .max_time_s = 30,
};
