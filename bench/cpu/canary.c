/*
 * The control: how fast the machine itself is right now. Every run of every version does the same
 * small work on one CPU, in each round next to the measured configurations. If the control changes
 * from one run to another, the machine changed (clocks, other programs, memory, hypervisor), and
 * the results of the configurations changed with it.
 *
 * One thread, pinned to the last of the worker's CPUs, since interrupts go to the first CPUs. It
 * warms up for 20 ms, then runs three parts of about 50 ms in sequence.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW, medians of equal pieces of work within the 50 ms:
 * `canary_integer`, ns: an integer multiplication and addition, of 8 chains side by side
 * (kernels/cpu/busy.h). `canary_latency`, ns: a load that waits for the previous load, over 8 KiB
 * in L1. `canary_copy`, GB/s by STREAM's count (16 B an element): a copy between two arrays larger
 * than L2, with plain stores and base pages, which are always available.
 * **Source** kernels/cpu/busy.h, chase.h, stream.h.
 * **Limits** One CPU stands for all. A disturbance of fewer than half of the pieces, such as steal
 * of a tenth, does not change a median; `status` shows it.
 */
#include <errno.h>
#include <stdint.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/stream.h"

enum { CANARY_INTEGER, CANARY_LATENCY, CANARY_COPY };
static const struct bench_metric canary_metrics[] = {
    [CANARY_INTEGER] = {"canary_integer", "ns", "lower"},
    [CANARY_LATENCY] = {"canary_latency", "ns", "lower"},
    [CANARY_COPY] = {"canary_copy", "GB/s", "higher"},
    {.name = NULL},
};

enum {
    STEPS = 1 << 15,       /* of all chains: about 0.1 ms */
    LOADS = 1 << 16,       /* about 0.1 ms */
    LINES = 128,           /* 8 KiB: a quarter of the smallest L1 */
    ARRAY_BYTES = 8 << 20, /* of each array; twice the L2 if that is more */
    ARRAY_MOST = 64 << 20,
    PIECES = 1 << 12 /* times kept */
};

static const uint64_t part_ns = 50000000, warm_up_ns = 20000000, seed = 1;

struct canary {
    struct team team;
    uint64_t chains[BUSY_CHAINS], steps;
    struct chase_line lines[LINES] __attribute__((aligned(CHASE_LINE_BYTES)));
    struct chase_line *at;
    uint64_t loads;
    struct memory_block arrays[2];
    size_t n; /* elements of each array */
    double took_ns[PIECES];
    double median_ns[3]; /* by metric */
};

static double *array_of(const struct canary *c, unsigned which)
{
    return c->arrays[which].base;
}

static void run_chains(struct canary *c)
{
    busy_run(c->chains, STEPS);
    c->steps += STEPS;
}

static void run_loads(struct canary *c)
{
    c->at = chase_walk(c->at, LOADS);
    c->loads += LOADS;
}

static void run_copy(struct canary *c)
{
    const struct stream_args args = {.to = array_of(c, 1), .x = array_of(c, 0), .n = c->n};
    (void)stream_isa_best()->kernel[STREAM_COPY][STREAM_PLAIN](&args);
}

static double time_pieces(struct canary *c, void (*piece)(struct canary *c), uint64_t for_ns)
{
    enum { LEAST = 3 };
    size_t n = 0;
    uint64_t now_ns = clock_now_ns(), end_ns = now_ns + for_ns;
    while (n < PIECES && (n < LEAST || now_ns < end_ns)) {
        uint64_t start_ns = now_ns;
        piece(c);
        now_ns = clock_now_ns();
        c->took_ns[n++] = (double)(now_ns - start_ns);
    }
    return stats_sort_median(c->took_ns, n);
}

/* Runs in the pinned thread, so first touch places the arrays on that thread's node. */
static void measure(void *arg)
{
    struct canary *c = arg;
    for (size_t i = 0; i < c->n; i++) {
        array_of(c, 0)[i] = (double)i;
        array_of(c, 1)[i] = -1;
    }
    (void)time_pieces(c, run_chains, warm_up_ns);
    c->median_ns[CANARY_INTEGER] = time_pieces(c, run_chains, part_ns);
    c->median_ns[CANARY_LATENCY] = time_pieces(c, run_loads, part_ns);
    c->median_ns[CANARY_COPY] = time_pieces(c, run_copy, part_ns);
}

static size_t array_bytes(const struct bench_machine *machine)
{
    uint64_t bytes = ARRAY_BYTES;
    for (unsigned i = 0; i < machine->ncaches; i++)
        if (machine->caches[i].level == 2 && 2 * machine->caches[i].size_bytes > bytes)
            bytes = 2 * machine->caches[i].size_bytes;
    return (size_t)(bytes < ARRAY_MOST ? bytes : ARRAY_MOST);
}

static int canary_setup(struct bench_ctx *ctx)
{
    const struct bench_machine *machine = ctx->machine;
    struct canary *c = ctx->state;
    for (unsigned i = 0; i < BUSY_CHAINS; i++)
        c->chains[i] = seed + i;
    chase_grow(c->lines, 0, LINES, seed);
    c->at = c->lines;
    size_t bytes = array_bytes(machine);
    c->n = bytes / sizeof(double);
    int rc = memory_open(ctx, &c->arrays[0], bytes, MEMORY_4K);
    if (!rc)
        rc = memory_open(ctx, &c->arrays[1], bytes, MEMORY_4K);
    unsigned os_cpu = machine->cpus[machine->ncpus - 1].os_cpu;
    return rc ? rc : team_open(&c->team, ctx, &os_cpu, 1);
}

static int canary_scan(struct bench_ctx *ctx)
{
    struct canary *c = ctx->state;
    team_call(&c->team, 0, measure, c);
    const double *ns = c->median_ns;
    const double values[] = {
        [CANARY_INTEGER] = ns[CANARY_INTEGER] / ((double)STEPS * BUSY_CHAINS),
        [CANARY_LATENCY] = ns[CANARY_LATENCY] / LOADS,
        [CANARY_COPY] = (double)c->n * stream_op_bytes(STREAM_COPY) / ns[CANARY_COPY],
    };
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        bench_emit(ctx, i, values[i], NO_DIMS);
    return 0;
}

/* The chains and the walk end where the counted steps lead, so all work was done. */
static int canary_check(struct bench_ctx *ctx)
{
    const struct canary *c = ctx->state;
    const struct chase_line *at = c->lines;
    for (unsigned i = 0; i < BUSY_CHAINS; i++)
        if (c->chains[i] != busy_expect(seed + i, c->steps))
            return err_set(ctx->err, -EBADMSG, "chain %u is wrong after %llu steps", i,
                           (unsigned long long)c->steps);
    for (uint64_t i = 0; i < c->loads % LINES; i++)
        at = at->next;
    if (at != c->at || !chase_is_cycle(c->lines, LINES))
        return err_set(ctx->err, -EBADMSG, "the walk through L1 ended at another line");
    for (size_t i = 0; i < c->n; i++)
        if (array_of(c, 1)[i] != (double)i)
            return err_set(ctx->err, -EBADMSG, "element %zu was not copied", i);
    return 0;
}

const struct bench bench_canary = {
    .name = "canary",
    .summary = "how fast one CPU is right now: beside the arms of every run",
    .metrics = canary_metrics,
    .state_size = sizeof(struct canary),
    .setup = canary_setup,
    .scan = canary_scan,
    .check = canary_check,
};
