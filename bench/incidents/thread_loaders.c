#include "bench/incidents/incidents.h"

const struct incident incident_thread_loaders = {
    .scenario = {.name = "thread_loaders",
                 .summary = "data loaders as threads are slower than as processes",
                 .parts = INCIDENT_PART(.foreground = "loader", .params = "loaders=2;gpu_ms=10",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Thread based dataloading workers",
            .url = "https://github.com/pytorch/pytorch/pull/161044",
            .date = "2026-04-23",
            .machine = "PyTorch, ImageNet from disk; level from memory, and without "
                       "the interpreter lock (3.14t)",
            .figures = "about 30% slower as threads than as processes",
        },
    .differs = "work in Python alone, which is the worst case; data in memory",
    .cure = "a process a loader",
    .variants = {"sick=param:mode=python-thread", "cured=param:mode=python-process", NULL},
    .metric = "batches",
    .doctor = NULL,
    .time_s = 0.4,
    .max_time_s = 30,
};
