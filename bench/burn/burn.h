/* Parts of the burn-in. The time is divided into bins; each unit has separate values per bin. */
#ifndef CONTEND_BENCH_BURN_BURN_H
#define CONTEND_BENCH_BURN_BURN_H

#include "bench/common/team.h"
#include "bench/gpu/gpu_sensors.h"
#include "bench/gpu/gpu_set.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/matmul/gpu_matmul_ref.h"

enum { BURN_BINS = 12 };

struct burn_time {
    uint64_t start_ns, end_ns;
    unsigned bins;
};

static inline unsigned burn_bin(const struct burn_time *time, uint64_t ns)
{
    uint64_t bin = (ns - time->start_ns) * time->bins / (time->end_ns - time->start_ns);
    return bin < time->bins ? (unsigned)bin : time->bins - 1;
}

/* Zeroed = empty. */
struct burn_stat {
    double sum, least, most;
    unsigned n;
};
static inline void burn_stat_add(struct burn_stat *stat, double value)
{
    if (value != value)
        return;
    stat->least = stat->n && stat->least < value ? stat->least : value;
    stat->most = stat->n && stat->most > value ? stat->most : value;
    stat->sum += value;
    stat->n++;
}
/* NaN if empty. */
static inline double burn_stat_mean(const struct burn_stat *stat)
{
    return stat->n ? stat->sum / stat->n : (double)__builtin_nan("");
}

/* CPUs: each has a thread that multiplies and copies memory in turn. */
struct burn_cpus {
    struct team team;
    unsigned n;
    size_t elements;
    double *arrays; /* two per CPU */
    const struct burn_time *time;
    struct burn_cpu {
        _Alignas(128) uint64_t chain[BUSY_CHAINS];
        double steps[BURN_BINS], steps_ns[BURN_BINS], bytes[BURN_BINS], bytes_ns[BURN_BINS];
        struct err wrong; /* the first wrong result */
    } * cpu;
};
int burn_cpus_open(struct burn_cpus *cpus, struct bench_ctx *ctx);
/* Runs until the end of the time. */
void burn_cpus_run(struct burn_cpus *cpus, const struct burn_time *time);

/* GPUs: products of all types in turn, and passes over the rest of their memory; copies
 * meanwhile. */
enum { BURN_HOST, BURN_PEER, BURN_LINKS };
struct burn_gpus {
    unsigned n; /* 0 = none, or not usable here */
    struct burn_part *parts;
    const struct burn_time *time;
    double slice_s;
    uint64_t passes;
    struct gpu_set set[3]; /* of products, copies, memory: the GPUs still in use */
    struct burn_gpu {
        struct burn_gpu_bin {
            double work[MATMUL_TYPES], seconds[MATMUL_TYPES]; /* 1e12 operations; s */
            struct burn_stat copies[BURN_LINKS];              /* GB/s, both directions together */
            struct burn_stat clock_mhz, power_w, temperature_c;
        } bin[BURN_BINS];
        struct burn_stat throttle[GPU_THROTTLES], slowed;
        double replays; /* new PCIe replays */
        bool has[MATMUL_TYPES];
    } * gpu;
};
/* Opens the usable GPUs; the sets say why others are not usable. */
int burn_gpus_open(struct burn_gpus *gpus, struct bench_ctx *ctx);
/* Runs each kind of work briefly, so that its code is loaded. */
void burn_gpus_warm_up(struct burn_gpus *gpus);
/* Starts the work, which goes on until the end of the time; burn_gpus_wait waits for the end. */
int burn_gpus_start(struct burn_gpus *gpus, const struct burn_time *time, struct err *err);
void burn_gpus_wait(struct burn_gpus *gpus);
void burn_gpus_close(struct burn_gpus *gpus);

#endif
