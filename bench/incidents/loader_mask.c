#include "bench/incidents/incidents.h"

const struct incident incident_loader_mask = {
    .scenario = {.name = "loader_mask",
                 .summary = "sixteen data loaders are as slow as one, and all but one CPU "
                            "idle",
                 .parts = INCIDENT_PART(.foreground = "loader", .params = "mode=process;gpu_ms=1",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Unexpected modification to CPU affinity of Dataloader workers",
            .url = "https://github.com/pytorch/pytorch/issues/101850",
            .date = "2023-10-19",
            .machine = "64 CPUs, 8 x V100, Python 3.11.3 of conda-forge; #99625 names "
                       "the library, llvm-openmp, as the cause",
            .figures = "\"a 10 times speed boost from having 16 instead of 1 worker "
                       "process\", a remark of one person",
        },
    .differs = "loaders in C narrow their own mask after the fork, as that "
               "library did",
    .cure = "the mask of the parent for each loader",
    .variants = {"sick=param:mask=first-core", "sick=param:loaders=8", "cured=param:loaders=8",
                 NULL},
    .metric = "batches",
    .doctor = "narrowed_children|inherited_mask|masks_overlap|narrow_mask",
    .time_s = 0.3,
    .max_time_s = 30,
};
