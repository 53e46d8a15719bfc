/*
 * How fast every CPU is, alone: a loop of multiplications, and a copy within its own caches. CPUs
 * of one kind should be equally fast. A slower CPU is throttled, has a bad core, or shares its core
 * with another program or guest.
 *
 * CPUs take turns while all other CPUs sleep; each round has its own order. A CPU runs the loop for
 * half of its turn and the copy for the other half; the first third of each half settles the clock.
 *
 * **Measures** `cpu_rate`, 1e9 steps of a chain a second (kernels/cpu/busy.h: BUSY_CHAINS chains a
 * step), and `cpu_copy`, GB/s (1e9) of 16 B an element (STREAM's copy, plain stores) from one array
 * of 128 KiB to another: the fastest batch, on CLOCK_MONOTONIC_RAW. Noise only slows batches down,
 * so the fastest batch shows the CPU's own speed. Keys: cpu, the system's number.
 * **Source** kernels/cpu/busy.h and kernels/cpu/stream.h name theirs.
 * **Limits** CPUs run alone: smt_pairs and mem_bandwidth show what they lose to each other. A CPU
 * that another process uses all the time is slow here, too.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/stream.h"

enum { ELEMENTS = 16384, BATCH_STEPS = 8192, COPIES = 4, SETTLE_SHARE = 3, ALIGN = 4096 };

static const double turn_least_ns = 4e6, turn_most_ns = 2e8;

enum { BY_CPU = 1 };
static const struct bench_dim speed_dims[] = {[BY_CPU] = {"cpu"}, {.name = NULL}};

enum { CPU_RATE, CPU_COPY };
static const struct bench_metric speed_metrics[] = {
    [CPU_RATE] = {"cpu_rate", "G/s", "higher"},
    [CPU_COPY] = {"cpu_copy", "GB/s", "higher"},
    {.name = NULL},
};

struct speed {
    struct team team;
    unsigned n, cpu; /* cpu: the CPU that has the turn */
    uint64_t seed, half_ns, batch_steps, copies;
    const struct stream_isa *isa;
    double *arrays; /* [n][2][ELEMENTS] */
    struct turn {
        _Alignas(128) uint64_t chain[BUSY_CHAINS];
        uint64_t steps;
        double rate, copy_gbps;
    } * turns; /* [n] */
};

static double *array_of(const struct speed *s, unsigned cpu, unsigned which)
{
    return s->arrays + ((size_t)cpu * 2 + which) * ELEMENTS;
}

static int speed_setup(struct bench_ctx *ctx)
{
    struct speed *s = ctx->state;
    s->n = ctx->machine->ncpus;
    s->seed = ctx->round_seed;
    s->isa = stream_isa_best();
    double turn_ns = fmin(fmax(ctx->budget_s * 1e9 / s->n, turn_least_ns), turn_most_ns);
    s->half_ns = (uint64_t)turn_ns / 2;
    /* A batch is long enough for the clock to time. A half has some tens of batches. */
    uint64_t more = 1 + clock_cost_ns() * CLOCK_MIN_INTERVAL_CALLS / 10000;
    s->batch_steps = BATCH_STEPS * more;
    s->copies = COPIES * more;
    s->turns = bench_array(ctx, s->n, sizeof(*s->turns));
    s->arrays = aligned_alloc(ALIGN, (size_t)s->n * 2 * ELEMENTS * sizeof(double));
    if (!s->turns || !s->arrays)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the arrays of %u CPUs", s->n);
    for (unsigned cpu = 0; cpu < s->n; cpu++)
        busy_begin(s->turns[cpu].chain, s->seed + (uint64_t)cpu * BUSY_CHAINS);
    int rc = bench_at_close(ctx, free, s->arrays);
    return rc ? rc : team_open_all(&s->team, ctx);
}

/* Runs batches until half a turn is over. Returns the shortest time after settling, ns. */
static double fastest(struct speed *s, unsigned cpu, void (*batch)(struct speed *s, unsigned cpu))
{
    uint64_t start_ns = clock_now_ns(), now_ns = start_ns;
    double least_ns = INFINITY;
    while (now_ns - start_ns < s->half_ns || isinf(least_ns)) {
        batch(s, cpu);
        uint64_t after_ns = clock_now_ns();
        if (now_ns - start_ns >= s->half_ns / SETTLE_SHARE)
            least_ns = fmin(least_ns, (double)(after_ns - now_ns));
        now_ns = after_ns;
    }
    return least_ns;
}

static void run_chains(struct speed *s, unsigned cpu)
{
    busy_run(s->turns[cpu].chain, s->batch_steps);
    s->turns[cpu].steps += s->batch_steps;
}

static void run_copies(struct speed *s, unsigned cpu)
{
    const struct stream_args args = {
        .to = array_of(s, cpu, 0), .x = array_of(s, cpu, 1), .n = ELEMENTS};
    for (uint64_t i = 0; i < s->copies; i++)
        (void)s->isa->kernel[STREAM_COPY][STREAM_PLAIN](&args);
}

/* Runs in the thread of that CPU, so first touch places the arrays on its node. */
static void take_turn(void *arg)
{
    struct speed *s = arg;
    unsigned cpu = s->cpu;
    for (size_t i = 0; i < ELEMENTS; i++) {
        array_of(s, cpu, 0)[i] = NAN;
        array_of(s, cpu, 1)[i] = (double)(cpu + i);
    }
    double steps = (double)s->batch_steps * BUSY_CHAINS;
    double bytes = (double)s->copies * ELEMENTS * stream_op_bytes(STREAM_COPY);
    s->turns[cpu].rate = steps / fastest(s, cpu, run_chains);
    s->turns[cpu].copy_gbps = bytes / fastest(s, cpu, run_copies);
}

static int measure_cpu(struct bench_ctx *ctx, size_t cpu)
{
    struct speed *s = ctx->state;
    const struct dims at = DIMS({BY_CPU, ctx->machine->cpus[cpu].os_cpu});
    s->cpu = (unsigned)cpu;
    team_call(&s->team, s->cpu, take_turn, s);
    bench_emit(ctx, CPU_RATE, s->turns[cpu].rate, at);
    bench_emit(ctx, CPU_COPY, s->turns[cpu].copy_gbps, at);
    return 0;
}

static int speed_scan(struct bench_ctx *ctx)
{
    return points_run(ctx, ctx->machine->ncpus, measure_cpu, NULL);
}

/* The chains end where the counted steps lead, and the copies match. */
static int speed_check(struct bench_ctx *ctx)
{
    const struct speed *s = ctx->state;
    for (unsigned cpu = 0; cpu < s->n; cpu++) {
        unsigned os_cpu = ctx->machine->cpus[cpu].os_cpu;
        if (!busy_is_right(s->turns[cpu].chain, s->seed + (uint64_t)cpu * BUSY_CHAINS,
                           s->turns[cpu].steps))
            return err_set(ctx->err, -EBADMSG, "the chains of CPU %u are wrong after %llu steps",
                           os_cpu, (unsigned long long)s->turns[cpu].steps);
        for (size_t i = 0; i < ELEMENTS; i++)
            if (array_of(s, cpu, 0)[i] != (double)(cpu + i))
                return err_set(ctx->err, -EBADMSG, "element %zu that CPU %u copied is wrong", i,
                               os_cpu);
    }
    return 0;
}

const struct bench bench_cpu_speed = {
    .name = "cpu_speed",
    .summary = "how fast every CPU is alone: multiplications, and copies in its caches",
    .metrics = speed_metrics,
    .dims = speed_dims,
    .state_size = sizeof(struct speed),
    .setup = speed_setup,
    .scan = speed_scan,
    .check = speed_check,
};
