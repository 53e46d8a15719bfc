#include "bench/incidents/incidents.h"

const struct incident incident_harmful_cure = {
    .scenario = {.name = "harmful_cure",
                 .summary = "a fixed small number of threads, taken from somebody else's fix, "
                            "makes a machine with more CPUs slower",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline", .placements = "none", .workers = 1},
                         {.foreground = NULL}}},
    .reported = {.title = "TP > 1: every rank keeps torch's default intra-op thread count, so a "
                          "multi-rank weight load busy-waits itself to a standstill on a "
                          "small-core host (19 min -> 61 s)",
                 .url = "https://github.com/FlashML-org/FreeToken/issues/371",
                 .date = "2026-09-05",
                 .machine = "2 x Xeon Gold 6526Y, 64 CPUs, 2 x RTX 6000 Ada, 2 ranks: 32 threads, "
                            "then 3, which gained 19x on 6 cores",
                 .what = "s, rank wall time",
                 .before = 0.104,
                 .after = 0.255,
                 .less_is_better = true},
    .differs = "one process that has all CPUs, and one thread in place of three",
    .cure = "none is needed: a team of all CPUs fits here",
    .variants = {"default=threads:{cpus}", "fewer=threads:1", NULL},
    .metric = "throughput",
    .doctor = "",
    .harms = true,
};
