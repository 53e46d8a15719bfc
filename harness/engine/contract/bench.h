/*
 * The contract between benchmarks (bench/) and the harness. Both sides include this header; neither
 * includes the other. A benchmark is one `const struct bench`; a worker process runs one benchmark.
 *
 * Order of calls in a worker, already bound to its CPUs: probe, setup, step (warm-up, then
 * measured, then kept up as load until every foreground worker is done) or scan, check, teardown.
 * Victim and aggressor are the same struct: contention is a property of the plan.
 */
#ifndef CONTEND_ENGINE_CONTRACT_BENCH_H
#define CONTEND_ENGINE_CONTRACT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/device.h"
#include "harness/engine/contract/dims.h"
#include "harness/engine/contract/figure.h"
#include "harness/engine/contract/peers.h"
#include "harness/engine/contract/stages.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/lib/pci.h"

/* What a benchmark needs. The harness skips the benchmark, with a reason, where a need is unmet. */
enum {
    NEED_DEVICE = 1u << 0,     /* a GPU or its stand-in `sim`: ctx->device says which */
    NEED_GPU = 1u << 1,        /* a real GPU: device is `cuda`, and machine->gpus lists them */
    NEED_COLLECTIVE = 1u << 2, /* collectives: NCCL over GPUs, else MPI on the CPUs */
};

/* A worker measures at least this many steps a round, if the round's time limit allows. */
enum { BENCH_STEPS_LEAST = 3 };

/* NUMA nodes that have a count of their own, indexed by os_node. */
enum { BENCH_NODES = 64 };

/*
 * One timed interval. The harness writes start_ns and elapsed_ns; the step writes the rest. A scan
 * times itself: its sample has iters = 1, and 0 in the rest.
 */
struct sample {
    uint64_t start_ns;   /* clock_now_ns */
    uint64_t elapsed_ns; /* host time of the call of step or scan */
    uint64_t ops;        /* items done, in the benchmark's unit */
    uint64_t bytes;      /* bytes moved, by the benchmark's formula; 0 without a formula */
    uint64_t device_ns;  /* time the device was busy with work that ended in this sample */
    uint64_t iters;      /* iterations in this interval */
    double rate;         /* the step's own rate if the benchmark has a rate_unit; else 0 */
};

/* The machine as the system reports it, but only with the CPUs that this worker is bound to. */
struct bench_machine {
    unsigned ncpus, nnodes, ncaches;
    struct bench_cpu {
        unsigned os_cpu;
        int core, llc, package; /* as in struct topo_cpu */
        int os_node;            /* whose memory it uses; -1 = unknown */
    } cpus[BITSET_BITS];        /* in topological order: neighbours share caches */
    struct bench_node {
        unsigned os_node;
    } nodes[BENCH_NODES]; /* whose memory may be used */
    struct bench_cache {
        int level;
        uint64_t size_bytes;
    } caches[8];
    unsigned ngpus; /* GPUs that CUDA shows this process, in CUDA's order */
    struct bench_gpu {
        char pci_bdf[PCI_BDF_MAX];
        int os_node; /* nearest whose memory may be used; -1 = unknown */
    } gpus[64];
};

/*
 * A benchmark's own metric, emitted by bench_emit; rows carry it under this name. A scan emits in
 * scan, any other benchmark in check. With several workers, `over` says whose value counts.
 */
struct bench_metric {
    const char *name, *unit;
    const char *better; /* "higher", "lower" or "none" */
    bool hidden;        /* not in the table: about the measurement, or close to another metric */
    /*
     * For a hidden metric of steps with the same value in all placements: printed once below the
     * table, as the value and this text, "parallel regions a step"; or NULL.
     */
    const char *footnote;
    /* The value of several workers, if each emits its own. OVER_FIRST: worker 0 emits for all. */
    enum { OVER_FIRST, OVER_SUM, OVER_MOST, OVER_MEAN } over;
    bool gating; /* a main result of the benchmark: a comparison of results may fail on it */
    /*
     * The difference of two measured values: the cost of something. If its rounds do not show that
     * it is above 0, its row is not resolved, and has no numbers (record/row.h).
     */
    bool difference;
    bool hide_zeros; /* the table omits values that were never above 0, as they hide the rest */
    /*
     * In a scan with `gang`, the metric that a background load lowers. Each of its values under
     * load gets a row of the metric `retention`: the ratio to the baseline's value.
     */
    bool retention;
    /*
     * How units (DIM_GPU, DIM_RANK, or DIM_SOURCE and DIM_TARGET) compare; the row's `better` says
     * which side is worse. `least`, in the metric's unit, is a negligible difference.
     * `compare_filter`, or NULL for all, selects the values that are compared: values at other
     * points of its dimensions, such as tails and values under load, are left out.
     */
    enum { PEERS_DIFFER, PEERS_EQUAL, PEERS_WAITED } peers; /* PEERS_WAITED: low values are odd */
    double least;
    const struct dims *compare_filter;
    /*
     * For a metric that is the share of time for which a GPU was throttled, by reason: the
     * dimension value that means the power limit; or NULL. If the worst GPU was at its power limit,
     * differences are no error: GPUs with equal power limits are not equally fast.
     */
    const struct dims *power_limit;
    /*
     * For a rate: the metric that has the clock of each of its values, at the same dimensions; or
     * NULL. A comparison then also prints the change in clock cycles, so that a throttled GPU does
     * not look like a slower kernel.
     */
    const char *clock;
    struct dim_value replaced; /* a value with this dimension is shown at `shown`; dim 0 = none */
    double shown;
    const char *below_one; /* for a ratio: what an interval below 1 means; or NULL */
};

/* Limits the size of benchmark parameters, which cross exec by value. */
enum { BENCH_PARAMS_MAX = 1024, BENCH_LIBRARY_MAX = 48 };

struct command_orders; /* engine/worker/command_bench.h */

struct bench_ctx {
    const void *params;       /* the benchmark's own struct, params_size bytes, already validated */
    unsigned worker;          /* 0..workers-1 among its role */
    unsigned workers;         /* workers of this role that share the machine in this arm */
    unsigned planned_workers; /* workers of the plan: more than `workers` in a solo run */
    bool background;
    unsigned threads; /* size of the OpenMP team to use; libgomp's default is set to it too */
    uint64_t seed;    /* differs by worker; the same for every round and placement */
    /*
     * Differs by round; the same for every worker and placement of a round. A scan shuffles the
     * order in which it measures its points by this seed (random_shuffle), so that effects of being
     * first or last do not stick to one point. It emits the points always in the same order.
     */
    uint64_t round_seed;
    enum device device;
    char pci_bdf[PCI_BDF_MAX];       /* of this worker's GPU, "0000:00:06.0"; "" without one */
    struct cpu_samples *cpu_samples; /* each thread of each region calls cpu_samples_mark */
    struct err *err;                 /* write the reason here when a call fails */
    const struct bench_machine *machine;
    const char *groups;       /* directory of the workers' cgroups; NULL or "" = they have none */
    struct peers *peers;      /* the workers of this role, as a team; never NULL in a worker */
    double budget_s;          /* time that the measured part should take; a scan divides it up */
    bool measuring;           /* this call of step is measured: not warm-up, not background load */
    struct value_log *values; /* bench_emit appends to it */
    unsigned *least_team;     /* threads of the smallest OpenMP team, 0 = no team; or NULL */
    struct stage_clock *stages;     /* marked by the steps of a benchmark with stages; else NULL */
    char *library;                  /* filled by bench_library; NULL = not wanted */
    _Atomic uint64_t *progress;     /* counted by bench_progress; NULL = not wanted */
    struct command_orders *command; /* for a benchmark that runs a command; NULL = none was given */
    void *state;                    /* the benchmark's own, state_size bytes */
    struct bench_block *blocks;     /* allocated by bench_array and bench_at_close */
    const void *buffer;  /* setup may publish its main buffer: the harness then records */
    size_t buffer_bytes; /*   on which NUMA nodes its pages lie */
};

/*
 * Adds n units of work that a scan has done, so that an observer outside the process can see its
 * speed. For steps, the harness counts.
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
     * Unit of `rate` in samples, for steps that report their own rate: throughput is then the mean
     * of the samples' rates. NULL = throughput is ops per second.
     */
    const char *rate_unit;
    unsigned needs;
    const struct opt *opts; /* may be NULL */
    size_t params_size;
    /* Size of ctx->state, zeroed before setup and freed after teardown; 0 = setup allocates. */
    size_t state_size;
    const struct bench_metric *metrics; /* for bench_emit; ends with name NULL; or NULL */
    const struct bench_dim *dims; /* of the metrics' values (engine/contract/dims.h); or NULL */
    const struct bench_figure *figures; /* ends with name NULL; or NULL */
    const struct bench_stage *stages;   /* they cover all time of a step; or NULL */
    /*
     * The foreground workers are ranks that wait for each other: if one dies, the harness ends the
     * rest at once. The baseline of a scan is all ranks without the background. The baseline of
     * steps is one worker alone, which waits for nobody (workers is 1, planned_workers more). All
     * ranks must synchronize at least once in each call of step, and equally often.
     */
    bool gang;
    /*
     * The worker starts a user's command (engine/contract/command.h). Resource use and CPUs are
     * then those of the command and its descendants, not those of the worker.
     */
    bool runs_command;
    /*
     * A step is a whole run, from start to exit. One measured step is enough, and there is no
     * warm-up step unless the user asks for it.
     */
    bool one_shot;
    /* Checks parameters against each other; NULL = none. Runs in the parent, before any worker. */
    int (*validate)(const void *params, struct err *err);
    /* -ENOTSUP with a reason = a skipped row. NULL = always possible. */
    int (*probe)(struct bench_ctx *ctx);
    int (*setup)(struct bench_ctx *ctx); /* NULL = nothing to prepare */
    /*
     * A benchmark has either step or scan. A step is hot: no allocation, no I/O. It does `iters`
     * iterations and fills ops, bytes, device_ns.
     */
    int (*step)(struct bench_ctx *ctx, uint64_t iters, struct sample *sample);
    /*
     * A scan times itself and emits values. It is called once, without a warm-up, and owns all CPUs
     * of its worker: it pins threads of its own and leaves the main thread's mask as it is.
     */
    int (*scan)(struct bench_ctx *ctx);
    int (*check)(struct bench_ctx *ctx);     /* is the result right? after the timing */
    void (*teardown)(struct bench_ctx *ctx); /* once, also after a failed setup; NULL = none */
};

/* Allocates the state and calls setup. Call bench_close afterwards, also after an error. */
int bench_open(const struct bench *bench, struct bench_ctx *ctx);
/* Skips teardown where the benchmark has a state_size but no state, as it was never opened. */
void bench_close(const struct bench *bench, struct bench_ctx *ctx);

/*
 * Allocates n zeroed items of item_bytes each, in cache lines that no other array uses. bench_close
 * frees them. NULL: out of memory, with the reason in ctx->err.
 */
void *bench_array(struct bench_ctx *ctx, size_t n, size_t item_bytes);
/*
 * Makes bench_close call close(what) after teardown, in reverse order of registration. On -ENOMEM
 * it calls close(what) at once.
 */
int bench_at_close(struct bench_ctx *ctx, void (*close)(void *what), void *what);

/*
 * Records one value of metrics[metric] at a point of the benchmark's dimensions (NO_DIMS: the
 * metric's only value). Each metric and point becomes a row: median and interval over the rounds.
 * NaN records nothing. A worker that emits more than VALUES_MAX values fails. Not thread-safe.
 */
void bench_emit(struct bench_ctx *ctx, unsigned metric, double value, struct dims at);

/*
 * Records that one value of a scan is unavailable: a row without numbers and with the reason
 * why->msg, skipped if why->code is -ENOTSUP, else failed. Returns false, and records nothing, if
 * the code is 0.
 */
bool bench_emit_absent(struct bench_ctx *ctx, unsigned metric, const struct err *why,
                       struct dims at);

/*
 * As bench_emit, for a value that is not fully what the metric says. Its row is noisy, with the
 * sentence `why`; that of a bound begins "at most: ..." or "at least: ...". "" = not noisy.
 */
void bench_emit_doubt(struct bench_ctx *ctx, unsigned metric, double value, const char *why,
                      struct dims at);

/* Says which library was loaded at run time, with its version: "NCCL 2.28.9". Cut if too long. */
void bench_library(const struct bench_ctx *ctx, const char *name, const char *version);

/*
 * The device of the benchmark in a run whose workers feed `device` and communicate over
 * `transport`. DEVICE_NONE if the benchmark needs neither.
 */
enum device bench_device(const struct bench *bench, enum device device, enum device transport);

/* The benchmark's own metric of that name, and its `retention` metric. NULL = none. */
const struct bench_metric *bench_metric_find(const struct bench *bench, const char *name);
const struct bench_metric *bench_retention_metric(const struct bench *bench);

/* Unit of the benchmark's throughput, "items/s"; "" for a scan. */
const char *bench_rate_unit(const struct bench *bench);

/* What a step is called: "step", or "run" for one_shot. */
static inline const char *bench_step_name(const struct bench *bench)
{
    return bench->one_shot ? "run" : "step";
}

/* True if a step is the whole measurement, so that steps before it would double its time. */
static inline bool bench_is_whole(const struct bench *bench)
{
    return bench->scan || bench->one_shot;
}

/* True if the baseline is all workers without the background, not one worker alone. */
static inline bool bench_is_team(const struct bench *bench)
{
    return bench->gang && bench->scan;
}

/* True for a scan of the machine itself: its results name no device. */
static inline bool bench_feeds_none(const struct bench *bench)
{
    return bench->scan && !(bench->needs & NEED_DEVICE);
}

/* Searches a NULL-terminated table of benchmarks; NULL = unknown name. */
const struct bench *bench_find(const struct bench *const *benches, const char *name);

#endif
