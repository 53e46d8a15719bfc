#include "bench/incidents/incidents.h"

const struct incident incident_thread_per_cpu = {
    .scenario = {.name = "thread_per_cpu",
                 .summary = "one process is fast; two at once take several times as long each, "
                            "while the GPUs idle",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline", .placements = "none", .workers = 2},
                         {.foreground = NULL}}},
    .reported = {.title = "GPU processes slowed down by their CPU work, and taskset as the cure "
                          "(in Japanese)",
                 .url = "https://blog.qualiteg.com/gpu-system-cpu-bottleneck-taskset",
                 .machine = "a server with several GPUs, one process each",
                 .figures = "several times as long; recovered by taskset, eight CPUs a process"},
    .differs = "preprocessing of contend, and a simulated GPU",
    .cure = "threads = CPUs / processes",
    .variants = {"sick=placement:none", "cured=placement:sized", NULL},
    .metric = "throughput",
    .witness = "runqueue_wait_per_step",
    .max_time_s = 30,
    .doctor = "more_threads_than_cpus",
};
