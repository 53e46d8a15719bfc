/*
 * The contract between benchmarks (bench/) and the harness. Both sides include this; neither
 * knows the other. A benchmark is one `const struct bench`; a worker process runs one of them.
 *
 * Order of calls in a worker, already bound to its CPUs: probe, setup, step (warm-up, then
 * measured, then kept up as load until every foreground worker is done) or scan, check, teardown.
 * Victim and aggressor are the same struct: contention is a property of the plan.
 */
#ifndef CONTEND_CONTRACT_BENCH_H
#define CONTEND_CONTRACT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/cpu_samples.h"
#include "harness/contract/device.h"
#include "harness/contract/dims.h"
#include "harness/contract/figure.h"
#include "harness/contract/peers.h"
#include "harness/contract/stages.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/lib/base/opt.h"

/* A benchmark needs these; the harness skips it, with a reason, where one is absent. */
enum {
    NEED_DEVICE = 1u << 0,     /* a GPU or its stand-in `sim`: ctx->device says which */
    NEED_GPU = 1u << 1,        /* a real GPU: device is `cuda`, and machine->gpus lists them */
    NEED_COLLECTIVE = 1u << 2, /* collectives: NCCL over GPUs, else MPI on the CPUs */
};

enum { PCI_BDF_MAX = 32 };

/* Steps that a worker measures in a round, where the limit has room for them. */
enum { BENCH_STEPS_LEAST = 3 };

/* As many NUMA nodes as get a count of their own, by os_node. */
enum { BENCH_NODES = 64 };

/*
 * One timed interval. The harness writes start and elapsed, a step the rest; of a scan, which times
 * itself, iters is 1 and the rest 0.
 */
struct sample {
    uint64_t start_ns;   /* clock_now_ns */
    uint64_t elapsed_ns; /* host time of the call of step or scan */
    uint64_t ops;        /* items done, in the benchmark's unit */
    uint64_t bytes;      /* bytes moved, by the benchmark's formula; 0 where it has none */
    uint64_t device_ns;  /* time the device was busy with work that ended in this sample */
    uint64_t iters;      /* iterations in this interval */
    double rate;         /* of a benchmark with rate_unit, what the step itself gives; else 0 */
};

/* The machine as the system reports it: of the CPUs, only those that this worker is bound to. */
struct bench_machine {
    unsigned ncpus, nnodes, ncaches;
    struct bench_cpu {
        unsigned os_cpu;
        int core, llc, package; /* as in struct topo_cpu */
        int os_node;            /* -1 = unknown */
    } cpus[BITSET_BITS];        /* in topological order: neighbours share caches */
    struct bench_node {
        unsigned os_node;
    } nodes[BENCH_NODES]; /* whose memory may be used */
    struct bench_cache {
        int level;
        uint64_t size_bytes;
    } caches[8];
    unsigned ngpus; /* that CUDA shows this process, in its order */
    struct bench_gpu {
        char pci_bdf[PCI_BDF_MAX];
        int os_node; /* -1 = unknown */
    } gpus[64];
};

/*
 * A metric of its own that a benchmark emits by bench_emit; rows carry it under this name. Scans
 * emit in scan, others in check: what only they know of the steps behind their figures. Where there
 * are several workers, worker 0 emits for all.
 */
struct bench_metric {
    const char *name, *unit;
    const char *better; /* "higher", "lower" or "none" */
    bool hidden;        /* about the measurement, or near another one: not in the table */
    /*
     * For a hidden metric of steps, the same for all placements: printed once below them, as the
     * value and this, "parallel regions a step"; or NULL.
     */
    const char *footnote;
    bool gating;    /* what it is there to measure: a comparison of results may fail on it */
    bool only_held; /* values that were never above 0 are not in the table: they bury others */
    /*
     * In a scan that is `gang`, the one that a background takes from. Beside each of its values
     * under load stands a row of `retention`, its ratio to the baseline's.
     */
    bool retention;
    /*
     * Units (DIM_GPU, DIM_RANK, or DIM_SOURCE and DIM_TARGET) are compared; the row says which side
     * is worse. `least` is a difference that is nothing, in the metric's unit. `compare_filter`, or
     * NULL, names what may be compared: values that stand elsewhere along its dimensions, such as
     * tails and values under load, are left out.
     */
    enum { PEERS_DIFFER, PEERS_EQUAL, PEERS_WAITED } peers; /* waits: the low one is odd */
    double least;
    const struct dims *compare_filter;
    /*
     * For a metric that is the share of time for which something held a GPU back: its place when
     * that is the power limit; or NULL. Where the worst GPU was at that limit, differences are no
     * error: equal limits make no equal GPUs.
     */
    const struct dims *power_limit;
    /*
     * For a rate, the metric with values at the same places that has the clock it ran at; or NULL.
     * A comparison then prints the change in clock cycles, too: a throttled GPU is no slower
     * kernel.
     */
    const char *clock;
    struct dim_value replaced; /* shown as if it stood at `shown`; dim 0 = none is */
    double shown;
    const char *below_one; /* or NULL: of a ratio, what it means where its interval lies below 1 */
};

/* Limits the size of benchmark parameters, which cross exec by value. */
enum { BENCH_PARAMS_MAX = 1024, BENCH_LIBRARY_MAX = 48 };

struct command_seat; /* engine/command/command_bench.h */

struct bench_ctx {
    const void *params; /* the benchmark's own struct, params_size bytes, already validated */
    unsigned worker;    /* 0..workers-1 among its role */
    unsigned workers;   /* how many share the machine in this arm, this role */
    unsigned
        planned_workers; /* how many the machine was planned for: more in a baseline of one alone */
    bool background;
    unsigned threads; /* size of the OpenMP team to use; libgomp's default is set to it too */
    uint64_t seed;    /* differs by worker; the same for every round and placement */
    /*
     * Differs by round; the same for every worker and placement in it. A scan shuffles by it the
     * order in which it measures its points (random_shuffle), lest what the first or last one
     * meets be taken for its own; it emits them in one order always.
     */
    uint64_t round_seed;
    enum device device;
    char pci_bdf[PCI_BDF_MAX]; /* of this worker's GPU, "0000:00:06.0"; "" without one */
    struct cpu_samples
        *cpu_samples; /* call cpu_samples_mark(ctx->cpu_samples) in each thread of each region */
    struct err *err;  /* write the reason here when a call fails */
    const struct bench_machine *machine;
    const char *groups;       /* directory of the workers' cgroups; NULL or "" = they have none */
    struct peers *peers;      /* the workers of this role, as a team; never NULL in a worker */
    double budget_s;          /* time that the measured part should take; a scan divides it up */
    bool measuring;           /* this call of step counts: no warm-up, no load for others */
    struct value_log *values; /* what bench_emit fills */
    unsigned *least_team;     /* NULL, or of all OpenMP teams: threads in the smallest; 0 = none */
    struct stage_clock *stages;   /* of a benchmark with stages, what its steps mark; else NULL */
    char *library;                /* what bench_library fills; NULL = nobody asks */
    _Atomic uint64_t *progress;   /* what bench_progress counts; NULL = nobody asks */
    struct command_seat *command; /* of a benchmark that runs one; NULL = none was given */
    void *state;                  /* the benchmark's own, as its state_size says */
    struct bench_block *blocks;   /* that bench_array gave, and what bench_at_close closes */
    const void *buffer;           /* setup may publish its main buffer: the harness then records */
    size_t buffer_bytes;          /*   on which NUMA nodes its pages lie */
};

/*
 * Units of work that a scan has done: who watches a process from outside sees by it how fast it is.
 * Of steps the harness counts them.
 */
static inline void bench_progress(const struct bench_ctx *ctx, uint64_t n)
{
    if (ctx->progress)
        atomic_fetch_add_explicit(ctx->progress, n, memory_order_relaxed);
}

struct bench {
    const char *name;     /* [a-z_]+ */
    const char *summary;  /* one line for `contend info` */
    const char *ops_unit; /* what `ops` of a step counts, such as "items"; a scan has none */
    /*
     * The unit of steps that report their own rate: throughput is then the mean of the samples'
     * rates. NULL = ops a second.
     */
    const char *rate_unit;
    unsigned needs;
    const struct opt *opts; /* may be NULL */
    size_t params_size;
    /*
     * The size of ctx->state, zeroed before setup and freed behind teardown; 0 = it makes its own.
     */
    size_t state_size;
    const struct bench_metric *metrics; /* that bench_emit may name, ends with name NULL; or NULL */
    const struct bench_dim *dims; /* of the values of those, as contract/dims.h says; or NULL */
    const struct bench_figure *figures; /* ends with name NULL; or NULL */
    const struct bench_stage *stages;   /* that its steps mark, all their time; or NULL */
    /*
     * The foreground workers are one unit, ranks that wait for each other: when one is lost the
     * others are ended at once. A scan's baseline is all of them without the background. Others
     * have the usual one, one worker alone, which then has nobody to wait for (workers is 1,
     * planned workers more); all ranks must meet at least once in each call of step, and do the
     * same number of them.
     */
    bool gang;
    /*
     * It starts a user's command (contract/command.h): what that and all below it use counts in
     * place of what the worker does, and where they run.
     */
    bool runs_command;
    /*
     * A step is a whole run of something, with its beginning and its end: one is enough, and none
     * comes before those that count unless the user says so.
     */
    bool one_shot;
    /* Checks parameters against each other; NULL = none. Runs in the parent, before any worker. */
    int (*validate)(const void *params, struct err *err);
    /* -ENOTSUP with a reason = a skipped row. NULL = always possible. */
    int (*probe)(struct bench_ctx *ctx);
    int (*setup)(struct bench_ctx *ctx);
    /*
     * Either is set. A step is hot: no allocation, no I/O. It does `iters` iterations and fills
     * ops, bytes, device_ns.
     */
    int (*step)(struct bench_ctx *ctx, uint64_t iters, struct sample *sample);
    /*
     * A scan times itself: it is called once, without a warm-up, owns all CPUs of its worker
     * (threads of its own, each pinned; the main thread's mask stays as it is) and emits values
     * instead of being timed from outside.
     */
    int (*scan)(struct bench_ctx *ctx);
    int (*check)(struct bench_ctx *ctx);     /* is the result right? after the timing */
    void (*teardown)(struct bench_ctx *ctx); /* once, also after a failed setup; NULL = none */
};

/* Makes its state and calls setup; bench_close afterwards, also behind an error. */
int bench_open(const struct bench *bench, struct bench_ctx *ctx);
/* Where there is no state, since it was never opened, nothing of the benchmark's is called. */
void bench_close(const struct bench *bench, struct bench_ctx *ctx);

/* n zeroed items of so many bytes until bench_close, in cache lines of their own; NULL and why. */
void *bench_array(struct bench_ctx *ctx, size_t n, size_t item_bytes);
/*
 * What setup has opened is closed by bench_close, behind teardown, the last one first. -ENOMEM: it
 * is closed at once.
 */
int bench_at_close(struct bench_ctx *ctx, void (*close)(void *what), void *what);

/*
 * Records one value of metrics[metric] where it stands along the benchmark's dimensions (NO_DIMS: a
 * metric's only value): one row a metric and place, its median and interval over rounds. NaN is
 * none. A worker that emits more than VALUES_MAX fails. Not thread-safe.
 */
void bench_emit(struct bench_ctx *ctx, unsigned metric, double value, struct dims at);

/*
 * In the place of a value that cannot be had, while others of the scan can: a row without numbers,
 * skipped where why->code is -ENOTSUP and else failed, with the reason why->msg. False, and no row,
 * where the code is 0.
 */
bool bench_emit_absent(struct bench_ctx *ctx, unsigned metric, const struct err *why,
                       struct dims at);

/*
 * A value that is not, or in part not, what the metric says: a noisy row, with the sentence `why`,
 * "at most: ..." or "at least: ..." of a bound. "" = no doubt, as bench_emit.
 */
void bench_emit_doubt(struct bench_ctx *ctx, unsigned metric, double value, const char *why,
                      struct dims at);

/* Says which library was loaded at run time, with its version: "NCCL 2.28.9". Cut if too long. */
void bench_library(const struct bench_ctx *ctx, const char *name, const char *version);

/*
 * The device of the benchmark, where the run has `device` behind its workers and `transport`
 * between them: DEVICE_NONE for one that needs neither.
 */
enum device bench_device(const struct bench *bench, enum device device, enum device transport);

/* NULL where the benchmark has no metric of that name of its own; and the one that is `retention`.
 */
const struct bench_metric *bench_metric_find(const struct bench *bench, const char *name);
const struct bench_metric *bench_retention_metric(const struct bench *bench);

/* Unit of the benchmark's throughput, "items/s"; "" of a scan. Returns buf. */
char *bench_rate_unit(const struct bench *bench, char *buf, size_t size);

/* The word for its step: "step", or "run" for a command that is run as a whole. */
static inline const char *bench_step_name(const struct bench *bench)
{
    return bench->one_shot ? "run" : "step";
}

/* True where the baseline of such workers is all of them, without the background. */
static inline bool bench_is_team(const struct bench *bench)
{
    return bench->gang && bench->scan;
}

/* A scan of the machine itself, so that a run of such ones has no device to name. */
static inline bool bench_feeds_none(const struct bench *bench)
{
    return bench->scan && !(bench->needs & NEED_DEVICE);
}

/* NULL-terminated table of benchmarks; NULL where `name` is not in it. */
const struct bench *bench_find(const struct bench *const *benches, const char *name);

#endif
