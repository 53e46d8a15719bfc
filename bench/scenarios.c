#include <stddef.h>

#include "bench/registry.h"

static const struct scenario_part pipeline_parts[] = {
    {
        .foreground = "pipeline",
        .placements = "none,sized,passive,same,partition,cores,llc,numa,gpu-local,package-local,"
                      "remote,pcores",
    },
    {.foreground = NULL},
};

static const struct scenario_part dose_parts[] = {
    {.foreground = "pipeline", .placements = "none,partition"},
    {.foreground = NULL},
};

static const struct scenario_part train_parts[] = {
    {
        .foreground = "train",
        .placements = "none,sized,passive,same,partition,cores,llc,numa,gpu-local,package-local,"
                      "remote,pcores",
    },
    {.foreground = NULL},
};

/* The workers of the first placement are also measured without the background. */
static const struct scenario_part serve_parts[] = {
    {
        .foreground = "serve",
        .params = "behind=1",
        .placements = "partition,none,sized,passive,gpu-local",
    },
    {.foreground = NULL},
};

/* Scans own the machine: one worker on all CPUs, with pinned threads of its own. */
#define SCAN(name)                                                                                 \
    {                                                                                              \
        .foreground = (name), .placements = "none", .workers = 1                                   \
    }

static const struct scenario_part memory_parts[] = {
    SCAN("mem_bandwidth"), SCAN("mem_latency"),   SCAN("loaded_latency"), SCAN("core_to_core"),
    SCAN("smt_pairs"),     SCAN("false_sharing"), SCAN("cache_thrash"),   {.foreground = NULL},
};

/* clang-format off */
static const struct scenario_part os_parts[] = {
    SCAN("context_switch"),
    SCAN("wakeup_latency"),
    SCAN("spawn"),
    SCAN("priority_inversion"),
    SCAN("fairness"),
    SCAN("page_fault"),
    SCAN("event_loop"),
    SCAN("mutex"),
    SCAN("producer_consumer"),
    {.foreground = NULL},
};
/* clang-format on */

/* clang-format off */
static const struct scenario_part io_parts[] = {
    SCAN("read_path"),
    {.foreground = NULL},
};
/* clang-format on */

static const struct scenario_part grain_parts[] = {
    {.foreground = "grain", .placements = "none,sized,passive,partition"},
    {.foreground = NULL},
};

static const struct scenario_part threads_parts[] = {
    {.foreground = "threads", .placements = "none,passive,partition"},
    {.foreground = NULL},
};

static const struct scenario_part loader_parts[] = {
    /* One GPU with all CPUs, then all GPUs at once. */
    {.foreground = "loader", .placements = "none", .workers = 1},
    {.foreground = "loader", .placements = "partition"},
    {.foreground = NULL},
};

/* Steps of a few ms, so that a quota's period has several. */
static const struct scenario_part cgroup_parts[] = {
    {.foreground = "cgroup", .params = "rows=512", .placements = "none", .workers = 1},
    {.foreground = NULL},
};

static const struct scenario_part numa_parts[] = {SCAN("numa_matrix"), {.foreground = NULL}};

static const struct scenario_part allreduce_parts[] = {
    /* Waited for one by one, as at the end of a step; and queued, which hides a late CPU. */
    {
        .foreground = "collective",
        .params = "op=allreduce;factor=8;queue=1",
        .placements = "none,sized,passive,partition,gpu-local",
    },
    {
        .foreground = "collective",
        .params = "op=allreduce;factor=8",
        .placements = "none,sized,passive,partition,gpu-local",
    },
    {.foreground = NULL},
};

/* One per line, so that branches that add one merge. */
/* clang-format off */
static const struct scenario_part gpu_parts[] = {
    SCAN("gpu_copy"),
    SCAN("gpu_launch"),
    SCAN("gpu_stream"),
    SCAN("gpu_matmul"),
    {.foreground = NULL},
};
/* clang-format on */

const struct scenario scenario_registry[] = {
    {
        .name = "pipeline",
        .summary = "workers that each preprocess on the CPU and feed a GPU of their own",
        .parts = pipeline_parts,
    },
    {
        .name = "train",
        .summary = "the same workers, which sum a gradient each step: a slow worker delays all",
        .parts = train_parts,
    },
    {
        .name = "serve",
        .summary =
            "requests that arrive at random beside batch work: the load at which they are late",
        .parts = serve_parts,
        .background = "prep",
        .background_workers = 1,
    },
    {
        .name = "memory",
        .summary = "memory, caches and CPU pairs: bandwidth, latency, sharing, thrashing",
        .parts = memory_parts,
    },
    {
        .name = "os",
        .summary = "the operating system: switches, starts, locks, priorities, memory, event loops",
        .parts = os_parts,
        .quick_s = 60,
    },
    {
        .name = "io",
        .summary = "disks: one data set by each way to read it, and checkpoints",
        .parts = io_parts,
    },
    {
        .name = "grain",
        .summary = "teams of workers, by how finely their work is divided: the collapse as a curve",
        .parts = grain_parts,
    },
    {
        .name = "threads",
        .summary = "preprocessing over threads and workers: the setting to use, and the cliff",
        .parts = threads_parts,
    },
    {
        .name = "loader",
        .summary = "loaders that feed each worker's GPU: how many, and threads or processes",
        .parts = loader_parts,
    },
    {
        .name = "cgroup",
        .summary = "preprocessing under the limits of a container: CPU time, memory, threads",
        .parts = cgroup_parts,
    },
    {
        .name = "numa_matrix",
        .summary = "bandwidth and latency from every NUMA node's CPUs to every node's memory",
        .parts = numa_parts,
    },
    {
        .name = "gpu",
        .summary = "GPUs: copies, kernels, launches, matrix products",
        .parts = gpu_parts,
    },
    {
        .name = "allreduce",
        .summary = "all-reduce among GPUs, alone and with CPU-heavy workers behind it",
        .parts = allreduce_parts,
        .background = "prep",
    },
    {
        .name = "dose",
        .summary = "throughput that placements keep under contention, by its dose",
        .parts = dose_parts,
        .doses = "cpu=0,5,10,20,40,60%",
    },
    {.name = NULL},
};
