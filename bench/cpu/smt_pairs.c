/*
 * How much two busy CPUs slow each other down, for every pair of CPUs. Finds SMT siblings and other
 * shared units, even if a virtual machine hides them.
 *
 * All pairs are measured together, by the balanced plan of bench/cpu/pairs.h. In each short slot
 * about half of the CPUs run kernels/cpu/busy.h while the other CPUs sleep. Of the slots in which
 * CPU a is busy, b is busy in half. Every third CPU is busy equally often in both halves, so the
 * halves differ in b alone, even if every CPU has a sibling. One pair a slot would take 2016 slots
 * for 64 CPUs, and several pairs at once would disturb each other's siblings. About as many CPUs
 * are busy in every slot, so clocks that depend on the load are also equal in both halves. Each
 * pass over the plan gives the CPUs new columns in it.
 *
 * **Measures** rate of a CPU in a slot = steps of a batch / median time of its batches
 * (CLOCK_MONOTONIC_RAW, the first sixth of a slot left out); s(a,b) = mean rate of a over the slots
 * where b sleeps / mean where b is busy; `pair_slowdown` = sqrt(s(a,b) s(b,a)). 1 = independent;
 * 1.3 to 2 = they share a core: the better one thread fills the core, the higher the value.
 * **Source** bench/cpu/pairs.h names the plan's; kernels/cpu/busy.h the loop's.
 * **Limits** Sees shared execution units and clocks, not caches. A CPU that other processes use in
 * a slot shows a lower rate there: noise, which the plan spreads over all its pairs. With few
 * passes the standard error is about 2% on machines with siblings, and 1% without.
 */
#include <errno.h>
#include <math.h>
#include <time.h>

#include "bench/common/team.h"
#include "bench/cpu/pairs.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"

enum {
    BATCH_STEPS = 8192, /* of BUSY_CHAINS chains: some 20 us */
    BATCH_NS = 20000,   /* assumed time of BATCH_STEPS: a slow clock needs longer batches */
    BATCHES_MAX = 1024, /* kept of a slot */
    BATCHES_MIN = 3,    /* needed for a rate */
    PASSES_MAX = 64,
    SETTLE_SHARE = 6, /* 1 / this of a slot: for waking up and for the clock to rise */
    WAKE_NS = 150000  /* a sleeper wakes up this much earlier, then spins */
};

static const double slot_least_ns = 2e6, slot_most_ns = 2e7;

enum { METRIC_SLOWDOWN };
static const struct bench_metric smt_pairs_metrics[] = {
    {"pair_slowdown", "ratio", "lower"},
    {.name = NULL},
};

static const struct bench_figure smt_pairs_figures[] = {
    {.name = "smt_pairs",
     .kind = FIGURE_HEAT,
     .metric = "pair_slowdown",
     .title = "how much two busy CPUs slow each other down",
     .how = "1: not at all. SMT siblings show 1.3 to 2",
     .x = {"CPU (number)", BY_A},
     .y = {"CPU (number)", BY_B},
     .symmetric = true,
     .colours = "slowdown (ratio)",
     /* Fixed, or a machine without siblings would show its noise in all colours. */
     .range = {1, 1.5},
     .digits = 2},
    {.name = NULL},
};

struct smt_pairs {
    struct team team;
    struct pairs_plan plan;
    unsigned n;
    uint64_t seed, batch_steps;
    uint64_t start_ns, slot_ns;
    float *rates; /* [passes][runs][n], steps a ns; NaN = not busy, or not on its CPU */
    struct chains {
        _Alignas(128) uint64_t chain[BUSY_CHAINS];
        uint64_t steps;
        double took_ns[BATCHES_MAX];
    } * chains; /* [n] */
};

static int smt_pairs_probe(struct bench_ctx *ctx)
{
    return pairs_probe(ctx, METRIC_SLOWDOWN + 1);
}

/* Returns as many passes as fit in the budget with slots of twice the minimum length. */
static unsigned divide_budget(struct smt_pairs *s, double budget_ns)
{
    unsigned runs = pairs_runs(s->n);
    double fit = budget_ns / (runs * 2 * slot_least_ns);
    unsigned passes = fit < 1 ? 1 : fit > PASSES_MAX ? PASSES_MAX : (unsigned)fit;
    double slot_ns = budget_ns / (runs * passes);
    slot_ns = slot_ns < slot_least_ns ? slot_least_ns : slot_ns;
    s->slot_ns = (uint64_t)(slot_ns > slot_most_ns ? slot_most_ns : slot_ns);
    return passes;
}

static int smt_pairs_setup(struct bench_ctx *ctx)
{
    struct smt_pairs *s = ctx->state;
    s->n = ctx->machine->ncpus;
    s->seed = ctx->seed;
    s->batch_steps = BATCH_STEPS * (1 + clock_cost_ns() * CLOCK_MIN_INTERVAL_CALLS / BATCH_NS);
    bool planned = pairs_plan_init(&s->plan, s->n, divide_budget(s, ctx->budget_s * 1e9), s->seed);
    s->rates = bench_array(ctx, (size_t)s->plan.passes * s->plan.runs * s->n, sizeof(*s->rates));
    s->chains = bench_array(ctx, s->n, sizeof(*s->chains));
    if (!planned || !s->rates || !s->chains)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the rates of %u CPUs", s->n);
    for (unsigned cpu = 0; cpu < s->n; cpu++)
        busy_begin(s->chains[cpu].chain, s->seed + (uint64_t)cpu * BUSY_CHAINS);
    return team_open_all(&s->team, ctx);
}

static void smt_pairs_teardown(struct bench_ctx *ctx)
{
    struct smt_pairs *s = ctx->state;
    pairs_plan_free(&s->plan);
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    (void)nanosleep(&time, NULL);
}

static void wait_until(uint64_t start_ns)
{
    uint64_t now_ns = clock_now_ns();
    if (now_ns + UINT64_C(2) * WAKE_NS < start_ns)
        sleep_ns(start_ns - now_ns - WAKE_NS);
    while (clock_now_ns() < start_ns)
        ;
}

/* Busy until end_ns; the rate counts from measure_ns on. */
static double rate_in_slot(struct smt_pairs *s, struct chains *own, uint64_t measure_ns,
                           uint64_t end_ns)
{
    size_t kept = 0;
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns;) {
        busy_run(own->chain, s->batch_steps);
        own->steps += s->batch_steps;
        uint64_t after_ns = clock_now_ns();
        if (now_ns >= measure_ns && kept < BATCHES_MAX)
            own->took_ns[kept++] = (double)(after_ns - now_ns);
        now_ns = after_ns;
    }
    if (kept < BATCHES_MIN)
        return NAN;
    return (double)s->batch_steps / stats_sort_median(own->took_ns, kept);
}

/* No thread announces the slots: every thread knows the plan, and all read the same clock. */
static void follow_plan(void *arg, unsigned rank, unsigned n)
{
    struct smt_pairs *s = arg;
    for (unsigned pass = 0; pass < s->plan.passes; pass++)
        for (unsigned run = 0; run < s->plan.runs; run++) {
            size_t slot = (size_t)pass * s->plan.runs + run;
            uint64_t start_ns = s->start_ns + slot * s->slot_ns;
            float *rate = &s->rates[slot * n + rank];
            *rate = NAN;
            if (!pairs_busy(&s->plan, pass, run, rank))
                continue;
            wait_until(start_ns);
            *rate = (float)rate_in_slot(s, &s->chains[rank], start_ns + s->slot_ns / SETTLE_SHARE,
                                        start_ns + s->slot_ns);
        }
}

static int smt_pairs_scan(struct bench_ctx *ctx)
{
    struct smt_pairs *s = ctx->state;
    /* Time for all threads to wake up. A later thread loses part of the first slot. */
    s->start_ns = clock_now_ns() + 1000000 + 10000ull * s->n;
    (void)team_run(&s->team, NULL, s->n, follow_plan, s);
    for (unsigned a = 0; a < s->n; a++)
        for (unsigned b = a + 1; b < s->n; b++)
            pairs_emit(ctx, METRIC_SLOWDOWN, a, b, pairs_slowdown(&s->plan, s->rates, a, b), "");
    return 0;
}

/* The chains end where the counted steps lead, so all work was done. */
static int smt_pairs_check(struct bench_ctx *ctx)
{
    const struct smt_pairs *s = ctx->state;
    for (unsigned cpu = 0; cpu < s->n; cpu++)
        if (!busy_is_right(s->chains[cpu].chain, s->seed + (uint64_t)cpu * BUSY_CHAINS,
                           s->chains[cpu].steps))
            return err_set(ctx->err, -EBADMSG, "the chains of CPU %u are wrong after %llu steps",
                           ctx->machine->cpus[cpu].os_cpu,
                           (unsigned long long)s->chains[cpu].steps);
    return 0;
}

const struct bench bench_smt_pairs = {
    .name = "smt_pairs",
    .summary = "how much every two CPUs slow each other down: hidden SMT siblings",
    .metrics = smt_pairs_metrics,
    .dims = pairs_dims,
    .figures = smt_pairs_figures,
    .probe = smt_pairs_probe,
    .state_size = sizeof(struct smt_pairs),
    .setup = smt_pairs_setup,
    .scan = smt_pairs_scan,
    .check = smt_pairs_check,
    .teardown = smt_pairs_teardown,
};
