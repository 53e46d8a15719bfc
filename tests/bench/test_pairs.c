/* Schedules and their statistics by counting; the two scans over pairs through the contract. */
#include "bench/cpu/pairs.h"

#include <pthread.h>

#include "bench/registry.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/mix64.h"
#include "kernels/cpu/pingpong.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE

TEST(pairs_index_counts_up_by_pairs)
{
    for (unsigned n = 2; n <= 20; n++) {
        size_t expected = 0;
        for (unsigned a = 0; a < n; a++)
            for (unsigned b = a + 1; b < n; b++, expected++) {
                assert_int_equal(pairs_index(n, a, b), expected);
                assert_int_equal(pairs_index(n, b, a), expected);
            }
        assert_int_equal(pairs_count(n), expected);
    }
}

TEST(pairs_tournament_is_one)
{
    for (unsigned n = 2; n <= 65; n++) {
        unsigned *met = calloc(pairs_count(n), sizeof(*met));
        assert_non_null(met);
        assert_int_equal(pairs_slots(n), n % 2 ? n : n - 1);
        for (unsigned slot = 0; slot < pairs_slots(n); slot++) {
            unsigned resting = 0;
            for (unsigned a = 0; a < n; a++) {
                int b = pairs_partner(n, slot, a);
                resting += b < 0;
                if (b < 0)
                    continue;
                assert_in_range(b, 0, n - 1);
                assert_int_not_equal(b, a);
                assert_int_equal(pairs_partner(n, slot, (unsigned)b),
                                 a); /* symmetric, so pairs are disjoint */
                met[pairs_index(n, a, (unsigned)b)]++;
            }
            assert_int_equal(resting, n % 2);
        }
        for (size_t i = 0; i < pairs_count(n); i++)
            assert_int_equal(met[i], 2); /* once from each side */
        free(met);
    }
}

TEST(pairs_shuffle_permutes)
{
    unsigned order[50], moved = 0, seen[50] = {0};
    pairs_shuffle(order, 50, 3);
    for (unsigned i = 0; i < 50; i++) {
        seen[order[i]]++;
        moved += order[i] != i;
    }
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 25);
}

/* Given that a is busy, and b busy or idle: how often is c busy? One run is omitted. */
static void assert_balanced(const struct pairs_plan *plan, unsigned a, unsigned b, unsigned c)
{
    int runs[2] = {0, 0}, busy[2] = {0, 0};
    for (unsigned run = 0; run < plan->runs; run++) {
        if (!pairs_busy(plan, 0, run, a))
            continue;
        bool both = pairs_busy(plan, 0, run, b);
        runs[both]++;
        busy[both] += pairs_busy(plan, 0, run, c);
    }
    int half = (int)plan->ncolumns / 2;
    assert_int_equal(runs[0], half);
    assert_int_equal(runs[1], half - 1); /* without the run in which all are busy */
    assert_int_equal(busy[0], half / 2);
    assert_int_equal(busy[1], half / 2 - 1);
}

TEST(pairs_plan_balances_any_three)
{
    for (unsigned n = 3; n <= 33; n += 5) {
        AUTO(pairs_plan) plan;
        assert_true(pairs_plan_init(&plan, n, 1, n));
        assert_int_equal(plan.runs, pairs_runs(n));
        for (unsigned a = 0; a < n; a++)
            for (unsigned b = 0; b < n; b++)
                for (unsigned c = 0; c < n; c++)
                    if (a != b && b != c && a != c)
                        assert_balanced(&plan, a, b, c);
    }
}

enum { CPUS = 64 };

/* CPUs i and i + 32 share a core: 40% less when both are busy, plus 2% of noise. */
static void synthesise(const struct pairs_plan *plan, float *rates)
{
    for (unsigned pass = 0; pass < plan->passes; pass++)
        for (unsigned run = 0; run < plan->runs; run++)
            for (unsigned cpu = 0; cpu < CPUS; cpu++) {
                size_t at = ((size_t)pass * plan->runs + run) * CPUS + cpu;
                float noise = (float)(mix64(at) >> 40) * 0x1p-24f * 0.04f - 0.02f;
                bool sibling = pairs_busy(plan, pass, run, (cpu + CPUS / 2) % CPUS);
                rates[at] =
                    pairs_busy(plan, pass, run, cpu) ? (sibling ? 0.6f : 1.0f) + noise : NAN;
            }
}

TEST(pairs_slowdown_finds_siblings_although_all_have_one)
{
    AUTO(pairs_plan) plan;
    assert_true(pairs_plan_init(&plan, CPUS, 3, 1));
    float *rates = calloc((size_t)plan.passes * plan.runs * CPUS, sizeof(*rates));
    assert_non_null(rates);
    synthesise(&plan, rates);
    for (unsigned a = 0; a < CPUS; a++)
        for (unsigned b = a + 1; b < CPUS; b++) {
            double slowdown = pairs_slowdown(&plan, rates, a, b);
            if (b == a + CPUS / 2)
                assert_true(fabs(slowdown - 1 / 0.6) < 0.02);
            else
                assert_true(fabs(slowdown - 1) < 0.02);
        }
    free(rates);
}

TEST(pairs_slowdown_without_rates_is_unknown)
{
    AUTO(pairs_plan) plan;
    assert_true(pairs_plan_init(&plan, 2, 1, 1));
    float rates[64];
    assert_true(plan.runs * 2 <= 64);
    for (unsigned i = 0; i < plan.runs * 2; i++)
        rates[i] = i % 2 ? NAN : 1.0f;
    assert_true(isnan(pairs_slowdown(&plan, rates, 0, 1)));
}

TEST(pairs_probe_refuses_one_cpu_and_too_many)
{
    struct scan scan;
    static struct bench_machine odd;
    const char *const none[] = {NULL};
    odd.ncpus = 1;
    assert_int_equal(scan_probe(&scan, &bench_core_to_core, &odd, none), -ENOTSUP);
    assert_int_equal(scan_probe(&scan, &bench_smt_pairs, &odd, none), -ENOTSUP);
    assert_string_equal(scan.err.msg, "needs at least two CPUs, and may use only one");
    odd.ncpus = 2;
    assert_int_equal(scan_probe(&scan, &bench_core_to_core, &odd, none), 0);
    odd.ncpus = 256;
    assert_int_equal(scan_probe(&scan, &bench_core_to_core, &odd, none), 0);
    odd.ncpus = 400; /* 79800 pairs: the log holds one value a pair, not two */
    assert_int_equal(scan_probe(&scan, &bench_core_to_core, &odd, none), 0);
    assert_int_equal(scan_probe(&scan, &bench_smt_pairs, &odd, none), 0);
    odd.ncpus = 600;
    assert_int_equal(scan_probe(&scan, &bench_core_to_core, &odd, none), -ENOTSUP);
    assert_int_equal(scan_probe(&scan, &bench_smt_pairs, &odd, none), -ENOTSUP);
    assert_int_equal(scan_probe(&scan, &bench_false_sharing, &odd, none),
                     0); /* has no values per pair */
}

TEST(pairs_have_room_in_the_log)
{
    assert_true(pairs_have_room(362, 2));
    assert_false(pairs_have_room(363, 2));
    assert_true(pairs_have_room(512, 1));
    assert_false(pairs_have_room(513, 1));
}

/* A scan that would take too long is refused, and shows nothing. */
TEST(pairs_one_by_one_have_to_end)
{
    assert_true(pairs_fit_one_by_one(64, 1.5e-3, 0.5));
    assert_true(pairs_fit_one_by_one(224, 1.5e-3, 5));
    assert_false(pairs_fit_one_by_one(224, 1.5e-3, 2.4)); /* 37 s */
    assert_false(pairs_fit_one_by_one(384, 1.5e-3, 5));
}

TEST(busy_ends_where_the_steps_lead)
{
    uint64_t chains[BUSY_CHAINS], start[BUSY_CHAINS];
    for (int c = 0; c < BUSY_CHAINS; c++)
        start[c] = chains[c] = mix64((uint64_t)c);
    busy_run(chains, 0);
    assert_memory_equal(chains, start, sizeof(start));
    busy_run(chains, 1);
    assert_true(chains[3] == start[3] * 6364136223846793005u + 1442695040888963407u);
    busy_run(chains, 999);
    for (int c = 0; c < BUSY_CHAINS; c++) {
        assert_true(chains[c] == busy_expect(start[c], 1000));
        assert_true(chains[c] != busy_expect(start[c], 999));
    }
}

struct exchange {
    _Atomic uint32_t word;
    bool answered;
};

static void *answer_100(void *arg)
{
    struct exchange *exchange = arg;
    exchange->answered = pingpong_answer(&exchange->word, 100, NULL);
    return NULL;
}

static bool at_once(void *arg)
{
    ++*(unsigned *)arg;
    return true;
}

TEST(pingpong_counts_trips)
{
    struct exchange exchange = {.word = UINT32_MAX - 3}; /* wraps around on the way */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_100, &exchange), 0);
    assert_true(pingpong_ask(&exchange.word, 100, NULL));
    (void)pthread_join(thread, NULL);
    assert_true(exchange.answered);
    assert_int_equal(exchange.word, 196);
}

TEST(pingpong_gives_up_when_told)
{
    _Atomic uint32_t word = 10;
    unsigned asked = 0;
    const struct pingpong_timeout timeout = {at_once, &asked};
    assert_false(pingpong_answer(&word, 1, &timeout));
    assert_int_equal(word, 10);
    assert_false(pingpong_ask(&word, 1, &timeout));
    assert_int_equal(word, 11);
    assert_int_equal(asked, 2);
}

/*
 * Repeats the scan until `good` accepts it, and ends with the last try: other processes and a
 * hypervisor can keep two CPUs from running at once for the whole time of a pair.
 */
static void run_until(struct scan *scan, const struct bench *bench, double budget_s,
                      bool (*good)(const struct scan *scan))
{
    const char *const none[] = {NULL};
    scan_run(scan, bench, &machine, none, budget_s);
    for (int tries = 1; tries < PATIENCE && !good(scan); tries++) {
        scan_end(scan);
        scan_run(scan, bench, &machine, none, budget_s);
    }
}

static bool all_pairs_met(const struct scan *scan)
{
    return scan_count(scan, "pair_latency") == pairs_count(machine.ncpus);
}

static double first_slowdown(const struct scan *scan)
{
    char key[64];
    put_text(key, "a=%u;b=%u", machine.cpus[0].os_cpu, machine.cpus[1].os_cpu);
    return scan_value(scan, "pair_slowdown", key);
}

/* Wide bounds, since other tests may load the machine. */
static bool all_pairs_slow_down(const struct scan *scan)
{
    return scan_count(scan, "pair_slowdown") == pairs_count(machine.ncpus) &&
           first_slowdown(scan) > 0.3 && first_slowdown(scan) < 4;
}

TEST(core_to_core_every_pair)
{
    ENDED_BY(scan_end) struct scan scan;
    if (machine.ncpus < 2)
        skip();
    machine.ncpus = machine.ncpus > 4 ? 4 : machine.ncpus;
    run_until(&scan, &bench_core_to_core, 0.05, all_pairs_met);
    assert_int_equal(scan_count(&scan, "pair_latency"), pairs_count(machine.ncpus));
    char key[64];
    unsigned a = machine.cpus[0].os_cpu, b = machine.cpus[1].os_cpu;
    put_text(key, "a=%u;b=%u", a, b);
    double latency = scan_value(&scan, "pair_latency", key);
    double least = scan_value(&scan, "pair_latency_min", key);
    assert_true(least > 5 && least <= latency); /* ns; a cache line cannot be transferred faster */
    assert_true(latency < 1e6);
}

/* Two threads on one CPU cannot both run: no reply, so no value, and no hang. */
TEST(core_to_core_silence_has_no_value)
{
    ENDED_BY(scan_end) struct scan scan;
    static struct bench_machine crowded;
    const char *const none[] = {NULL};
    crowded = machine;
    crowded.ncpus = 2;
    crowded.cpus[1].os_cpu = crowded.cpus[0].os_cpu;
    scan_run(&scan, &bench_core_to_core, &crowded, none, 0.01);
    assert_int_equal(scan_count(&scan, "pair_latency"), 0);
    assert_int_equal(scan_count(&scan, "pair_latency_min"), 0);
}

TEST(smt_pairs_every_pair)
{
    ENDED_BY(scan_end) struct scan scan;
    if (machine.ncpus < 2)
        skip();
    machine.ncpus = machine.ncpus > 4 ? 4 : machine.ncpus;
    run_until(&scan, &bench_smt_pairs, 0.3, all_pairs_slow_down);
    assert_int_equal(scan_count(&scan, "pair_slowdown"), pairs_count(machine.ncpus));
    assert_true(first_slowdown(&scan) > 0.3 && first_slowdown(&scan) < 4);
}
