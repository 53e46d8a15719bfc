/*
 * Round trip of a cache line from one CPU to another and back, for every pair of CPUs.
 *
 * One CPU writes a word, the other answers in the same line (kernels/cpu/pingpong.h), a batch of
 * round trips at a time. Each pair uses 8 lines in 8 pages; each CPU first touches 4 of the pages.
 * A line's home (its slice of the cache, its directory, its NUMA node) is on the path of every
 * transfer, and differs from line to line.
 *
 * **Measures** ns a round trip = time of a batch / round trips in it, on CLOCK_MONOTONIC_RAW in the
 * asking thread; the first round trips of a batch are not timed. `pair_latency` is the median over
 * the lines of each line's median over its batches, `pair_latency_min` the fastest batch. A round
 * trip is two transfers. The "one way" time that some tools print is half of a round trip by
 * convention; nothing measures it.
 * If pairs measured one by one would have less than 4 ms each, many pairs run at once, in the slots
 * of a round-robin tournament. A sample of the pairs is then measured both ways:
 * `parallel_disturbance` is the median of at once / one by one. If it differs from 1 by more than
 * 10%, all pairs are measured one by one, or are marked noisy if that would take too long. With
 * more than 362 CPUs there is no room for `pair_latency_min`.
 * **Source** kernels/cpu/pingpong.h. First touch places the pages, so both CPUs touch some.
 * **Limits** A pair without an answer for 200 ms has no value: the hypervisor or another process
 * occupies a CPU. SMT siblings share a core while both spin, so they look a little slower than
 * their cache is. Latency under load differs.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/cpu/pairs.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/mix64.h"
#include "kernels/cpu/pingpong.h"

enum {
    PAGES_PER_CPU = 4,         /* a pair uses the pages of both CPUs */
    LINES = 2 * PAGES_PER_CPU, /* a pair */
    LINE_BYTES = 64,
    REPS_MIN = 3, /* batches a line */
    REPS_MAX = 256,
    WARM_TRIPS = 16,
    SAMPLE = 24,       /* pairs measured both ways */
    TRIAL_SLOTS = 4,   /* of the tournament; the sample comes from these */
    CLOCK_TRIP_NS = 20 /* no round trip is faster; sets the length of a batch */
};

static const uint64_t serial_enough_ns = 4000000; /* a pair: enough to measure one by one */
static const uint64_t serial_least_ns = 600000;
static const uint64_t pair_most_ns = 20000000; /* 180 batches a line: more do not help */
static const uint64_t answer_limit_ns = 200000000;
static const double disturbance_limit = 0.1;

enum { METRIC_PAIR, METRIC_PAIR_MIN, METRIC_DISTURBANCE };
static const struct bench_metric core_to_core_metrics[] = {
    {"pair_latency", "ns", "lower"},
    {"pair_latency_min", "ns", "lower", .hidden = true},
    {"parallel_disturbance", "ratio", "none"},
    {.name = NULL},
};

static const struct bench_figure core_to_core_figures[] = {
    {.name = "core_to_core",
     .kind = FIGURE_HEAT,
     .metric = "pair_latency",
     .title = "round trip of a cache line between two CPUs",
     .how = "ns, median of several lines",
     .x = {"CPU (number)", BY_A},
     .y = {"CPU (number)", BY_B},
     .symmetric = true,
     .colours = "round trip (ns)"},
    {.name = NULL},
};

/* A pair that is being measured. Only the asker writes `begun` and `finished`. */
struct cpu_pair {
    _Alignas(128) _Atomic uint32_t begun; /* batches */
    bool finished;
    _Alignas(128) unsigned cpu_index[2]; /* asker, answerer */
    uint64_t length_ns;
    double latency_ns, latency_min_ns; /* NaN: no answer */
    bool timed_out[2];                 /* asker, answerer: gave up waiting */
};

struct core_to_core {
    struct team team;
    struct memory_block pages; /* [ncpus][PAGES_PER_CPU] pages */
    size_t page_bytes;         /* the kernel's page size: the unit of placement */
    unsigned n;
    uint64_t seed;
    uint32_t trips;                /* timed round trips of a batch */
    uint32_t *expected;            /* [ncpus][PAGES_PER_CPU]: of the word in each page */
    struct cpu_pair *pairs;        /* [n / 2]: pairs of the current slot */
    unsigned *members;             /* team members by rank: both CPUs of each pair */
    double *latency, *latency_min; /* [pairs_index] */
};

static int core_to_core_probe(struct bench_ctx *ctx)
{
    return pairs_probe(ctx, METRIC_PAIR + 1); /* METRIC_PAIR_MIN only if there is room */
}

/* Page of line `line` of a pair; also its index in `expected`. */
static unsigned page_of(const struct cpu_pair *cpu_pair, unsigned line)
{
    return cpu_pair->cpu_index[line % 2] * PAGES_PER_CPU + line / 2;
}

static _Atomic uint32_t *word_in(const struct core_to_core *c, unsigned page)
{
    size_t at = mix64(c->seed + page) % (c->page_bytes / LINE_BYTES) * LINE_BYTES;
    return (_Atomic uint32_t *)((char *)c->pages.base + page * c->page_bytes + at);
}

static void touch_pages(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct core_to_core *c = arg;
    for (unsigned page = 0; page < PAGES_PER_CPU; page++)
        memset((char *)c->pages.base + ((size_t)rank * PAGES_PER_CPU + page) * c->page_bytes, 0,
               c->page_bytes);
}

static int core_to_core_setup(struct bench_ctx *ctx)
{
    struct core_to_core *c = ctx->state;
    c->n = ctx->machine->ncpus;
    c->seed = ctx->seed;
    c->page_bytes = memory_page_bytes();
    uint64_t least_ns = clock_cost_ns() * CLOCK_MIN_INTERVAL_CALLS;
    c->trips = (uint32_t)(least_ns / CLOCK_TRIP_NS);
    c->trips = c->trips < 100 ? 100 : c->trips;
    size_t npairs = pairs_count(c->n);
    c->expected = bench_array(ctx, (size_t)c->n * PAGES_PER_CPU, sizeof(*c->expected));
    c->pairs = bench_array(ctx, c->n / 2, sizeof(*c->pairs));
    c->members = bench_array(ctx, c->n, sizeof(*c->members));
    c->latency = bench_array(ctx, npairs, sizeof(*c->latency));
    c->latency_min = bench_array(ctx, npairs, sizeof(*c->latency_min));
    if (!c->expected || !c->pairs || !c->members || !c->latency || !c->latency_min)
        return -ENOMEM;
    int rc = memory_open(ctx, &c->pages, c->page_bytes * PAGES_PER_CPU * c->n, MEMORY_4K);
    if (!rc)
        rc = team_open_all(&c->team, ctx);
    if (!rc)
        (void)team_run(&c->team, NULL, c->n, touch_pages, c);
    return rc;
}

/* Time counts from the first call: pingpong makes that call only after a long wait. */
static bool waited_too_long(void *arg)
{
    uint64_t *since_ns = arg, now_ns = clock_now_ns();
    if (*since_ns == 0)
        *since_ns = now_ns;
    return now_ns - *since_ns > answer_limit_ns;
}

/* Untimed, then timed round trips in the line's page. Returns ns a round trip; NaN: no answer. */
static double measure_batch(struct core_to_core *c, struct cpu_pair *cpu_pair, unsigned line)
{
    uint64_t since_ns = 0;
    const struct pingpong_timeout timeout = {waited_too_long, &since_ns};
    unsigned page = page_of(cpu_pair, line);
    _Atomic uint32_t *word = word_in(c, page);
    if (!pingpong_ask(word, WARM_TRIPS, &timeout))
        return NAN;
    uint64_t start_ns = clock_now_ns();
    if (!pingpong_ask(word, c->trips, &timeout))
        return NAN;
    uint64_t took_ns = clock_now_ns() - start_ns;
    c->expected[page] += 2 * (WARM_TRIPS + c->trips);
    return (double)took_ns / c->trips;
}

/* Sums up batches[line][rep] of `reps` repetitions in the latencies of the pair. */
static void summarize(struct cpu_pair *cpu_pair, double batches[LINES][REPS_MAX], unsigned reps)
{
    double medians[LINES];
    for (unsigned line = 0; line < LINES; line++) {
        medians[line] = stats_sort_median(batches[line], reps);
        if (!(batches[line][0] >= cpu_pair->latency_min_ns)) /* sorted: [0] is the fastest */
            cpu_pair->latency_min_ns = batches[line][0];
    }
    cpu_pair->latency_ns = stats_sort_median(medians, LINES);
}

static void begin_batch(struct cpu_pair *cpu_pair, bool finished)
{
    cpu_pair->finished = finished;
    atomic_fetch_add_explicit(&cpu_pair->begun, 1, memory_order_release);
}

static void ask(struct core_to_core *c, struct cpu_pair *cpu_pair)
{
    double batches[LINES][REPS_MAX];
    uint64_t end_ns = clock_now_ns() + cpu_pair->length_ns;
    unsigned rep = 0;
    for (; rep < REPS_MAX && (rep < REPS_MIN || clock_now_ns() < end_ns); rep++) {
        for (unsigned line = 0; line < LINES; line++) {
            begin_batch(cpu_pair, false);
            batches[line][rep] = measure_batch(c, cpu_pair, line);
            if (isnan(batches[line][rep])) {
                cpu_pair->timed_out[0] = true;
                return;
            }
        }
    }
    begin_batch(cpu_pair, true);
    summarize(cpu_pair, batches, rep);
}

static void answer(struct core_to_core *c, struct cpu_pair *cpu_pair)
{
    for (uint32_t batch = 0;; batch++) {
        uint64_t since_ns = 0;
        const struct pingpong_timeout timeout = {waited_too_long, &since_ns};
        if (!pingpong_await(&cpu_pair->begun, batch + 1, &timeout)) {
            cpu_pair->timed_out[1] = true;
            return;
        }
        if (cpu_pair->finished)
            return;
        _Atomic uint32_t *word = word_in(c, page_of(cpu_pair, batch % LINES));
        if (!pingpong_answer(word, WARM_TRIPS, &timeout) ||
            !pingpong_answer(word, c->trips, &timeout)) {
            cpu_pair->timed_out[1] = true;
            return;
        }
    }
}

static void ask_or_answer(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct core_to_core *c = arg;
    struct cpu_pair *cpu_pair = &c->pairs[rank / 2];
    if (rank % 2 == 0)
        ask(c, cpu_pair);
    else
        answer(c, cpu_pair);
}

static void assign_pair(struct core_to_core *c, size_t at, unsigned a, unsigned b,
                        uint64_t length_ns)
{
    c->members[2 * at] = a;
    c->members[2 * at + 1] = b;
    c->pairs[at] = (struct cpu_pair){
        .cpu_index = {a, b}, .length_ns = length_ns, .latency_ns = NAN, .latency_min_ns = NAN};
}

/* Runs after both threads have stopped: resets the words of a failed pair to what check expects. */
static void reset_after_timeout(struct core_to_core *c, struct cpu_pair *cpu_pair)
{
    if (!cpu_pair->timed_out[0] && !cpu_pair->timed_out[1])
        return;
    cpu_pair->latency_ns = cpu_pair->latency_min_ns = NAN;
    for (unsigned line = 0; line < LINES; line++)
        atomic_store(word_in(c, page_of(cpu_pair, line)), c->expected[page_of(cpu_pair, line)]);
}

static void measure_pairs(struct core_to_core *c, unsigned npairs)
{
    (void)team_run(&c->team, c->members, 2 * npairs, ask_or_answer, c);
    for (unsigned i = 0; i < npairs; i++) {
        struct cpu_pair *cpu_pair = &c->pairs[i];
        reset_after_timeout(c, cpu_pair);
        size_t pair = pairs_index(c->n, cpu_pair->cpu_index[0], cpu_pair->cpu_index[1]);
        c->latency[pair] = cpu_pair->latency_ns;
        c->latency_min[pair] = cpu_pair->latency_min_ns;
    }
}

static void measure_slot(struct core_to_core *c, unsigned slot, uint64_t length_ns)
{
    unsigned npairs = 0;
    for (unsigned a = 0; a < c->n; a++) {
        int b = pairs_partner(c->n, slot, a);
        if (b > (int)a)
            assign_pair(c, npairs++, a, (unsigned)b, length_ns);
    }
    measure_pairs(c, npairs);
}

static void measure_pair(struct core_to_core *c, unsigned a, unsigned b, uint64_t length_ns)
{
    assign_pair(c, 0, a, b, length_ns);
    measure_pairs(c, 1);
}

/* Goes by slots too: no CPU sleeps for long, and drift spreads over all pairs. */
static void measure_one_by_one(struct core_to_core *c, uint64_t length_ns)
{
    for (unsigned slot = 0; slot < pairs_slots(c->n); slot++)
        for (unsigned a = 0; a < c->n; a++) {
            int b = pairs_partner(c->n, slot, a);
            if (b > (int)a)
                measure_pair(c, a, (unsigned)b, length_ns);
        }
}

/*
 * Slots 0, s, 2s, .. (s = stride) were measured at once. Measures a sample of their pairs again,
 * alone, and returns the median of at once / alone (NaN: no pair answered both times). The
 * latencies measured at once stay stored.
 */
static double measure_disturbance(struct core_to_core *c, unsigned stride, uint64_t length_ns)
{
    double ratios[SAMPLE];
    size_t n = 0;
    for (unsigned i = 0; i < SAMPLE; i++) {
        unsigned slot = i % TRIAL_SLOTS * stride;
        unsigned a = (unsigned)(mix64(c->seed + i) % c->n);
        int b = pairs_partner(c->n, slot, a);
        if (b < 0)
            continue;
        size_t pair = pairs_index(c->n, a, (unsigned)b);
        double latency = c->latency[pair], latency_min = c->latency_min[pair];
        measure_pair(c, a, (unsigned)b, length_ns);
        double ratio = latency / c->latency[pair];
        if (!isnan(ratio))
            ratios[n++] = ratio;
        c->latency[pair] = latency;
        c->latency_min[pair] = latency_min;
    }
    return stats_sort_median(ratios, n);
}

static uint64_t clamp_ns(double ns, uint64_t least, uint64_t most)
{
    return ns < (double)least ? least : ns > (double)most ? most : (uint64_t)ns;
}

/* Measures TRIAL_SLOTS slots of the tournament at once and returns the disturbance. */
static double measure_trial_at_once(struct core_to_core *c, uint64_t length_ns)
{
    unsigned stride = pairs_slots(c->n) / TRIAL_SLOTS;
    for (unsigned i = 0; i < TRIAL_SLOTS; i++)
        measure_slot(c, i * stride, length_ns);
    return measure_disturbance(c, stride,
                               length_ns < serial_enough_ns ? length_ns : serial_enough_ns);
}

static void measure_other_slots(struct core_to_core *c, uint64_t length_ns)
{
    unsigned slots = pairs_slots(c->n), stride = slots / TRIAL_SLOTS;
    for (unsigned slot = 0; slot < slots; slot++)
        if (slot % stride || slot / stride >= TRIAL_SLOTS)
            measure_slot(c, slot, length_ns);
}

/* Time that a pair takes alone, its wake-up included; mean of some pairs of distant CPUs. */
static double time_alone_s(struct core_to_core *c, uint64_t length_ns)
{
    enum { PAIRS = 4 };
    uint64_t start_ns = clock_now_ns();
    for (unsigned a = 0; a < PAIRS; a++)
        measure_pair(c, a, a + c->n / 2, length_ns);
    return 1e-9 * (double)(clock_now_ns() - start_ns) / PAIRS;
}

static void emit_all(struct bench_ctx *ctx, const char *doubt)
{
    struct core_to_core *c = ctx->state;
    bool has_room = pairs_have_room(c->n, METRIC_PAIR_MIN + 1);
    for (unsigned a = 0; a < c->n; a++)
        for (unsigned b = a + 1; b < c->n; b++) {
            size_t pair = pairs_index(c->n, a, b);
            pairs_emit(ctx, METRIC_PAIR, a, b, c->latency[pair], doubt);
            if (has_room)
                pairs_emit(ctx, METRIC_PAIR_MIN, a, b, c->latency_min[pair], doubt);
        }
}

static int core_to_core_scan(struct bench_ctx *ctx)
{
    struct core_to_core *c = ctx->state;
    size_t npairs = pairs_count(c->n);
    double budget_ns = ctx->budget_s * 1e9, disturbance = NAN;
    /* The rest of the budget is for waking up the threads. */
    uint64_t alone_ns = clamp_ns(0.6 * budget_ns / (double)npairs, serial_least_ns, pair_most_ns);
    uint64_t length_ns =
        clamp_ns(0.75 * budget_ns / pairs_slots(c->n), serial_least_ns, pair_most_ns);
    char doubt[128] = "";
    bool serial = budget_ns / (double)npairs >= (double)serial_enough_ns || c->n < 2 * TRIAL_SLOTS;
    if (!serial) {
        disturbance = measure_trial_at_once(c, length_ns);
        bool disturbed = fabs(disturbance - 1) > disturbance_limit;
        double pair_s = disturbed ? time_alone_s(c, alone_ns) : 0;
        serial = disturbed && pairs_fit_one_by_one(c->n, pair_s, ctx->budget_s);
        if (disturbed && !serial)
            (void)snprintf(doubt, sizeof(doubt),
                           "pairs at once took %.2f times as long as alone, and one by one all "
                           "would take %.0f s",
                           disturbance, (double)npairs * pair_s);
    }
    if (serial)
        measure_one_by_one(c, alone_ns);
    else
        measure_other_slots(c, length_ns);
    emit_all(ctx, doubt);
    bench_emit(ctx, METRIC_DISTURBANCE, disturbance, NO_DIMS);
    return 0;
}

/* Each round trip adds 2 to the word, so its value shows that none was lost or counted twice. */
static int core_to_core_check(struct bench_ctx *ctx)
{
    struct core_to_core *c = ctx->state;
    for (unsigned page = 0; page < c->n * PAGES_PER_CPU; page++) {
        uint32_t got = atomic_load(word_in(c, page));
        if (got != c->expected[page])
            return err_set(ctx->err, -EBADMSG, "the word of CPU %u, page %u, is %u, not %u",
                           ctx->machine->cpus[page / PAGES_PER_CPU].os_cpu, page % PAGES_PER_CPU,
                           got, c->expected[page]);
    }
    return 0;
}

const struct bench bench_core_to_core = {
    .name = "core_to_core",
    .summary = "round trip of a cache line between every two CPUs",
    .metrics = core_to_core_metrics,
    .dims = pairs_dims,
    .figures = core_to_core_figures,
    .probe = core_to_core_probe,
    .state_size = sizeof(struct core_to_core),
    .setup = core_to_core_setup,
    .scan = core_to_core_scan,
    .check = core_to_core_check,
};
