#include "bench/incidents/incidents.h"

const struct incident incident_steal = {
    .scenario = {.name = "steal",
                 .summary = "a virtual machine answers after a minute, and its own "
                            "processes hardly run",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline", .placements = "none", .workers = 1},
                         {.foreground = NULL}}},
    .reported =
        {
            .title = "fix(fly): use dedicated CPUs for operator instances (89% "
                     "steal caused a 40-min outage)",
            .url = "https://github.com/markmhendrickson/neotoma/pull/2150",
            .date = "2026-08-10",
            .machine = "Fly.io, 2 shared vCPUs, then dedicated ones; steal 89.6%, "
                       "then 0%",
            .what = "s, one request",
            .before = 73.2,
            .after = 0.99,
            .less_is_better = true,
        },
    .differs = "only a hypervisor steals CPU time",
    .cure = "dedicated vCPUs",
    .variants = {"sick=placement:none", "cured=placement:none", NULL},
    .metric = "throughput",
    .doctor = "run_queue",
    .cannot =
        "only a hypervisor can steal CPU time: 'contend validate' and 'contend doctor' report it",
};
