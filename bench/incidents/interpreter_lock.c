#include "bench/incidents/incidents.h"

const struct incident incident_interpreter_lock = {
    .scenario = {.name = "interpreter_lock",
                 .summary = "the GPU idles for 50 ms in a step while a thread frees memory",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "interpreter_lock", .placements = "none", .workers = 1},
                         {.foreground = NULL}}},
    .reported =
        {
            .title = "Significant perf reduction on Python GIL contention with "
                     "dataloader pinning thread",
            .url = "https://github.com/pytorch/pytorch/issues/77139",
            .date = "2022-05-10",
            .machine = "8 x A100, PyTorch 1.12: munmap in the destructor of a tensor, "
                       "with the interpreter lock held",
            .figures = "gaps of 50 ms and more in the GPU stream, in a step of 335 ms "
                       "without them; \"a faint signal\" of the fix",
        },
    .differs = "the same system call with and without the lock, and no GPU",
    .cure = "release the lock around munmap",
    .variants = {"sick=param:unmap=held", "cured=param:unmap=released", NULL},
    .metric = "launch_gap_p99",
    .witness = "launches",
    .doctor = NULL,
    .time_s = 0.6,
};
