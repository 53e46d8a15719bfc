/* Walks by counting, sizes of victims, slices, turns, cells, and cache_thrash through the contract.
 */
#include <limits.h>

#include "bench/cpu/thrash_fight.h"
#include "bench/cpu/thrash_values.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/walk.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE

TEST(walk_stream_goes_round)
{
    static _Alignas(64) struct walk_line area[10];
    struct walk walk = {.area = area, .lines = 10};
    walk_stream(&walk, 7);
    walk_stream(&walk, 16); /* 23 in all */
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(area[i].touched, i < 3 ? 3 : 2);
    assert_int_equal(walk_sum(&walk), 23);
    assert_int_equal(walk.touches, 23);
    walk_idle(&walk, 1000);
    assert_int_equal(walk_sum(&walk), 23);
}

TEST(walk_random_reaches_all_lines_evenly)
{
    static _Alignas(64) struct walk_line area[100];
    struct walk walk = {.area = area, .lines = 100};
    walk_random(&walk, 4000);
    walk_random(&walk, 6000);
    assert_int_equal(walk_sum(&walk), 10000);
    for (size_t i = 0; i < 100; i++)
        assert_in_range(area[i].touched, 50, 150); /* 100 +- 5 standard deviations */
}

static struct victim_range l3_range(uint64_t l3_bytes, uint64_t l2_bytes)
{
    static struct bench_machine m;
    m = (struct bench_machine){.ncpus = 1, .ncaches = 2};
    m.caches[0] = (struct bench_cache){.level = 2, .size_bytes = l2_bytes};
    m.caches[1] = (struct bench_cache){.level = 3, .size_bytes = l3_bytes};
    return victim_range(&m, VICTIM_L3);
}

TEST(victim_l3_is_up_to_half_of_it)
{
    assert_int_equal(l3_range(300 << 20, 2 << 20).least, 4 << 20);
    assert_int_equal(l3_range(300 << 20, 2 << 20).most, 150 << 20);
    assert_int_equal(l3_range(6 << 20, 2 << 20).least, 3 << 20);
    assert_int_equal(l3_range(6 << 20, 2 << 20).most, 3 << 20);
    assert_int_equal(l3_range(0, 2 << 20).most, 0);
    assert_int_equal(l3_range(32 << 20, 0).most, 0);
}

TEST(victims_in_private_caches_are_half_of_them)
{
    assert_int_equal(victim_range(&machine, VICTIM_L1).least, 16 << 10);
    assert_int_equal(victim_range(&machine, VICTIM_L2).most, 1 << 20);
}

/* A model of a machine: loads take 15 ns within `cache_bytes`, and 100 ns beyond. */
struct model {
    uint64_t cache_bytes;
    unsigned disturbed; /* number of next laps that another process disturbs */
};

static double model_warm(void *arg, uint64_t bytes)
{
    struct model *model = arg;
    if (model->disturbed && bytes > 4 << 20) {
        model->disturbed--;
        return 90;
    }
    return bytes <= model->cache_bytes ? 15 : 100;
}

static double model_cold(void *arg)
{
    return 100;
}

static uint64_t felt_bytes(struct model model, double lap_most_ns)
{
    bool fits = model.cache_bytes >= 2 << 20;
    struct effective_cache_size search = {.least = 2 << 20,
                                          .most = 24 << 20,
                                          .lap_most_ns = lap_most_ns,
                                          .warm = model_warm,
                                          .cold = model_cold,
                                          .arg = &model};
    uint64_t bytes = effective_cache_size_find(&search);
    assert_true(search.cold_ns == 100);
    assert_true(fits ? search.limit_ns > 15 && search.limit_ns < 100 : search.limit_ns == 0);
    return bytes;
}

TEST(felt_is_the_largest_set_at_cache_speed)
{
    assert_int_equal(felt_bytes((struct model){.cache_bytes = 10 << 20}, 1e9), 8 << 20);
    assert_int_equal(felt_bytes((struct model){.cache_bytes = 13 << 20}, 1e9), 12 << 20);
    assert_int_equal(felt_bytes((struct model){.cache_bytes = 300 << 20}, 1e9), 24 << 20);
    assert_int_equal(felt_bytes((struct model){.cache_bytes = 1 << 20}, 1e9), 2 << 20);
    assert_int_equal(felt_bytes((struct model){10 << 20, .disturbed = 7}, 1e9), 8 << 20);
    /* 65,536 lines at 100 ns each: 4 MiB. */
    assert_int_equal(felt_bytes((struct model){.cache_bytes = 300 << 20}, 6.6e6), 4 << 20);
}

/* Aggressors that already run, so that the test needs no second CPU. */
static void fight_one(struct fight *fight, enum victim_kind kind, struct aggressor *aggressor)
{
    static const struct bench_ctx ctx = {.machine = &machine, .seed = 7};
    static struct aggressor *all[1];
    static struct victim victim;
    all[0] = aggressor;
    fight->victim = &victim;
    assert_int_equal(fight_init(fight, NULL), 0);
    assert_int_equal(victim_init(&victim, kind, 0, &ctx), 0);
    victim_resize(&victim, victim.bytes);
    fight->kind = AGGRESSOR_STREAM;
    fight->n = 1;
    fight->aggressors = all;
    fight->area_bytes = 64 << 20;
    fight->llc_bytes = 32 << 20;
    fight_begin(fight);
    fight_run_victim(fight);
}

static void end_fight(struct fight *fight)
{
    assert_int_equal(victim_check(fight->victim, NULL), 0);
    victim_free(fight->victim);
    fight_free(fight);
}

/* Even without time, a slice settles for two laps and measures one. */
TEST(fight_slices_hold_whole_laps)
{
    static struct fight fight;
    static struct aggressor idle;
    fight = (struct fight){.end_ns = 0};
    fight_one(&fight, VICTIM_L3, &idle);
    assert_int_equal(fight.npairs, FIGHT_PAIRS_MIN);
    for (unsigned i = 0; i < fight.npairs; i++) {
        assert_in_range(fight.pairs[i].least_settled, 2, UINT_MAX);
        assert_in_range(fight.pairs[i].least_measured, 1, UINT_MAX);
        assert_true(fight.pairs[i].with_ns > 0 && fight.pairs[i].without_ns > 0);
        assert_true(fight.pairs[i].cpu_ns > 0);
    }
    end_fight(&fight);
}

/* A slice waits for an aggressor that does not get to run, but not for ever. */
TEST(fight_waits_for_pressure)
{
    static struct fight fight;
    static struct aggressor idle;
    fight = (struct fight){.settle_most_ns = 20000000};
    uint64_t start_ns = clock_now_ns();
    fight_one(&fight, VICTIM_L2, &idle);
    assert_true(clock_now_ns() - start_ns >= FIGHT_PAIRS_MIN * fight.settle_most_ns);
    for (unsigned i = 0; i < fight.npairs; i++)
        assert_true(fight.pairs[i].settle_caches == 0 && fight.pairs[i].lap_caches == 0);
    end_fight(&fight);
}

/* Chunks take 10 ns when warm, 40 and 25 after a switch; the set spans two chunks. */
static void add_turn(struct turns *turns, enum switched switched, unsigned warm)
{
    turns_add(turns, 40, switched);
    turns_add(turns, 25, SWITCHED_NOT);
    for (unsigned i = 0; i < warm; i++)
        turns_add(turns, i % 2 ? 30 : 10,
                  SWITCHED_NOT); /* after a warm chunk, a slow chunk is no refill */
}

TEST(turns_count_refills_up_to_the_first_warm_chunk)
{
    struct turns turns = {.warm_ns = 10, .lap = 2};
    turns_add(&turns, 1000, SWITCHED_NOT);
    assert_true(isnan(turns_sum(&turns).refill_ns));
    add_turn(&turns, SWITCHED, 3);
    assert_int_equal(turns.n, 0); /* a turn ends with the next switch */
    add_turn(&turns, SWITCHED_BY_OTHERS, 2);
    assert_int_equal(turns.n, 1);
    add_turn(&turns, SWITCHED, 3);
    assert_int_equal(turns.n, 1); /* switches by other processes do not count */
    turns_add(&turns, 40, SWITCHED);
    assert_int_equal(turns.n, 2);
    const struct turn sum = turns_sum(&turns);
    assert_true(sum.refill_ns == 30 + 15);
    assert_true(sum.first_ns == (30 + 15) / 2.0);
    assert_true(sum.ns == 40 + 25 + 10 + 30 + 10);
    assert_true(sum.warm);
}

/* A turn that ends early counts its refill so far; a small set is a fraction of a chunk. */
TEST(turns_know_those_that_never_get_warm)
{
    struct turns turns = {.warm_ns = 10, .lap = 8};
    for (unsigned i = 0; i < 3; i++)
        add_turn(&turns, SWITCHED, 0);
    assert_int_equal(turns.n, 2);
    assert_true(turns_sum(&turns).refill_ns == 45 && !turns_sum(&turns).warm);
    assert_true(turns_sum(&turns).first_ns == 45 / 2.0);
    turns = (struct turns){.warm_ns = 10, .lap = 0.25};
    turns_add(&turns, 14, SWITCHED);
    turns_add(&turns, 10, SWITCHED_NOT);
    turns_add(&turns, 14, SWITCHED);
    assert_true(turns_sum(&turns).first_ns == 4 / 0.25);
}

/* A victim that was never warm has no time of warm loads, and says so; what is left is measured. */
TEST(turns_without_a_warm_slice_have_no_warm_access)
{
    static struct victim none;
    static struct fight fight = {.victim = &none, .npairs = 2};
    const struct thrash_cell cell = {.where = WHERE_TURNS};
    double value[THRASH_VALUES];
    for (unsigned i = 0; i < 2; i++)
        fight.pairs[i] = (struct fight_pair){
            .cpu_ns = VICTIM_CHUNK_LOADS, .warm_ns = VICTIM_CHUNK_LOADS * (4 + i), .with.ns = 1};
    thrash_sum_up(&fight, &cell, &(struct thrash_victim){.alone_most_ns = 0}, value);
    assert_true(isnan(value[THRASH_ACCESS_WARM]) && value[THRASH_ACCESS] == 1);
    for (unsigned which = 0; which < THRASH_VALUES; which++)
        assert_int_equal(thrash_why_absent(&cell, which, value) != NULL,
                         which == THRASH_REFILL || which == THRASH_ACCESS_WARM);
    assert_has(thrash_why_absent(&cell, THRASH_ACCESS_WARM, value), "warm_share 0");
    /* One of both is warm. */
    const struct thrash_victim victim = {.alone_most_ns = VICTIM_CHUNK_LOADS * 4};
    thrash_sum_up(&fight, &cell, &victim, value);
    assert_true(value[THRASH_ACCESS_WARM] == 4);
    assert_null(thrash_why_absent(&cell, THRASH_ACCESS_WARM, value));
}

static unsigned most_at(const struct thrash_cells *cells, enum where where)
{
    unsigned most = 0;
    for (unsigned i = 0; i < cells->n; i++)
        if (cells->cell[i].where == where && cells->cell[i].n > most)
            most = cells->cell[i].n;
    return most;
}

static void find(struct thrash_cells *cells, const struct bench_machine *wide,
                 struct thrash_scope scope)
{
    assert_int_equal(thrash_cells_find(cells, wide, &scope, NULL), 0);
}

TEST(cells_go_up_to_all_cpus)
{
    static struct bench_machine wide;
    AUTO(thrash_cells) cells;
    wide = machine;
    wide.ncpus = 64;
    for (unsigned i = 0; i < 64; i++)
        wide.cpus[i] = (struct bench_cpu){.core = (int)i};
    find(&cells, &wide, (struct thrash_scope){VICTIM_L3, AGGRESSOR_STREAM, WHERE_ALL, 0});
    assert_int_equal(cells.n, 7 + 1); /* 1, 2, 4, .. 32, 63; and by turns */
    assert_int_equal(most_at(&cells, WHERE_SAME_LLC), 63);
    assert_int_equal(most_at(&cells, WHERE_TURNS), 1);
    assert_int_equal(cells.most, 63);
    thrash_cells_free(&cells);
    find(&cells, &wide, (struct thrash_scope){VICTIM_L3, AGGRESSOR_KINDS, WHERE_ALL, 8});
    assert_int_equal(cells.n, 3 * (4 + 1));
    assert_int_equal(cells.most, 8);
    thrash_cells_free(&cells);
    find(&cells, &wide, (struct thrash_scope){VICTIMS, AGGRESSOR_STREAM, WHERE_ALL, 0});
    assert_int_equal(cells.n, 7 + 3); /* private caches: by turns alone */
    thrash_cells_free(&cells);
    find(&cells, &wide, (struct thrash_scope){VICTIM_L1, AGGRESSOR_STREAM, WHERE_OTHER, 1});
    assert_int_equal(cells.n, 1);
    assert_int_equal(cells.cell[0].where, WHERE_SAME_LLC);
    thrash_cells_free(&cells);
    wide.ncpus = 1;
    find(&cells, &wide, (struct thrash_scope){VICTIMS, AGGRESSOR_STREAM, WHERE_OTHER, 0});
    assert_int_equal(cells.n, 0);
    thrash_cells_free(&cells);
    wide.ncaches = 0;
    find(&cells, &wide, (struct thrash_scope){VICTIMS, AGGRESSOR_STREAM, WHERE_ALL, 0});
    assert_int_equal(cells.n, 0);
}

/* Two cores with siblings under one L3, one core under another, one in another node. */
TEST(cells_know_places)
{
    static struct bench_machine wide;
    static const struct bench_cpu places[] = {
        {.core = 0}, {.core = 0},           {.core = 1},
        {.core = 1}, {.core = 2, .llc = 1}, {.core = 3, .llc = 2, .os_node = 1}};
    AUTO(thrash_cells) cells;
    wide = machine;
    wide.ncpus = 6;
    memcpy(wide.cpus, places, sizeof(places));
    find(&cells, &wide, (struct thrash_scope){VICTIM_L2, AGGRESSOR_L1, WHERE_ALL, 0});
    assert_int_equal(cells.n, WHERES);
    static const unsigned cpus[WHERES] = {1, 2, 4, 5, 6}; /* 6: none, a sibling of the victim */
    for (unsigned where = 0; where < WHERES; where++) {
        assert_int_equal(most_at(&cells, (enum where)where), 1);
        assert_int_equal(cells.candidates[where][0], cpus[where]);
    }
}

static double value_of(const struct scan *scan, const char *metric, const char *victim,
                       const char *aggressor)
{
    char key[64];
    put_text(key, "victim=%s;aggressor=%s;n=1", victim, aggressor);
    return scan_value(scan, metric, key);
}

/* A slowdown is with / without, from the cell's own pairs; otherwise it is absent with a reason. */
static void assert_cell(const struct scan *scan, const char *victim, const char *aggressor)
{
    double slowdown = value_of(scan, "victim_slowdown", victim, aggressor);
    double caches = value_of(scan, "caches_brought", victim, aggressor);
    assert_true(value_of(scan, "victim_time", victim, aggressor) > 1e-6);
    assert_true(value_of(scan, "victim_alone", victim, aggressor) > 1e-6);
    assert_true(value_of(scan, "access_time", victim, aggressor) > 0.2);
    assert_true(value_of(scan, "aggressor_rate", victim, aggressor) >= 0);
    assert_true(strcmp(aggressor, "l1") ? caches >= 0 : isnan(caches));
    assert_true(isnan(slowdown) || slowdown > 0);
    bool cold = value_of(scan, "warm_share", victim, aggressor) == 0;
    if (caches < 2 || cold)
        assert_true(isnan(slowdown));
    assert_int_equal(scan_count(scan, "cold_slowdown"), cold);
}

static void run(const char *victim, const char *aggressor, double budget_s, struct scan *scan)
{
    static struct bench_machine two;
    if (machine.ncpus < 2)
        skip();
    two = machine;
    two.ncpus = 2;
    two.caches[2].size_bytes = 32 << 10;
    const char *const pairs[] = {victim, aggressor, "where=same-llc", NULL};
    scan_run(scan, &bench_cache_thrash, &two, pairs, budget_s);
}

TEST(cache_thrash_of_each_victim)
{
    ENDED_BY(scan_end) struct scan scan;
    static const char *const victims[] = {"victim=l2", "victim=l3"};
    for (unsigned i = 0; i < 2; i++) {
        run(victims[i], "aggressor=stream", 0.05, &scan);
        assert_int_equal(scan_count(&scan, "victim_slowdown"), 1);
        assert_cell(&scan, strchr(victims[i], '=') + 1, "stream");
        assert_true(scan_value(&scan, "aggressor_bytes", "aggressor=stream") <= 64 << 20);
        scan_end(&scan);
    }
    run("victim=l2", "aggressor=random", 0.05, &scan);
    assert_cell(&scan, "l2", "random");
    scan_end(&scan);
    run("victim=l2", "aggressor=l1", 0.05, &scan);
    assert_cell(&scan, "l2", "l1");
    assert_int_equal((int)scan_value(&scan, "aggressor_bytes", "aggressor=l1"), 16 << 10);
}

/* Each is one value, or says why not. */
static void assert_value_or_reason(const struct scan *scan, const char *metric, const char *key)
{
    assert_int_equal(scan_count(scan, metric), 1);
    if (isnan(scan_value(scan, metric, key)))
        assert_non_null(scan_reason(scan, metric, key));
}

/* Values that need no switch exist however busy the CPU is; a refill exists or has a reason. */
static void assert_turns(const char *victim)
{
    static struct bench_machine one;
    ENDED_BY(scan_end) struct scan scan;
    char param[32], key[64];
    put_text(param, "victim=%s", victim);
    put_text(key, "victim=%s;aggressor=stream;where=turns;n=1", victim);
    const char *const pairs[] = {param, "aggressor=stream", NULL};
    one = machine;
    one.ncpus = 1;
    scan_run(&scan, &bench_cache_thrash, &one, pairs, 0.05);
    assert_value_or_reason(&scan, "access_warm", key);
    double warm_ns = scan_value(&scan, "access_warm", key);
    assert_true(scan_value(&scan, "warm_share", key) > 0 ? warm_ns > 0.2 : isnan(warm_ns));
    assert_true(scan_value(&scan, "access_time", key) > 0.2);
    assert_value_or_reason(&scan, "refill", key);
    if (!isnan(scan_value(&scan, "refill", key)))
        assert_true(scan_value(&scan, "turn", key) > 0);
    assert_int_equal(scan_count(&scan, "victim_slowdown"), 0);
}

TEST(cache_thrash_in_turns_on_one_cpu)
{
    for (enum victim_kind victim = 0; victim < VICTIMS; victim++)
        assert_turns(victim_names[victim]);
}

/* A round has a whole cell or nothing of it. */
TEST(cache_thrash_leaves_cells_to_other_rounds)
{
    ENDED_BY(scan_end) struct scan scan;
    run("victim=l2", "aggressor=all", 0, &scan);
    assert_int_equal(scan_count(&scan, "victim_slowdown"), 1);
    assert_int_equal(scan_count(&scan, "victim_alone"), 1);
    assert_int_equal((int)scan_value(&scan, "cells_left", ""), 2);
}

/* If the victim's lap is shorter than the aggressors' pass, the slowdown is absent, not 1. */
TEST(cache_thrash_out_of_reach)
{
    ENDED_BY(scan_end) struct scan scan;
    uint64_t l3_bytes = machine.caches[0].size_bytes;
    machine.caches[0].size_bytes = 256 << 20;
    run("size=256K", "aggressor=stream", 0.05, &scan);
    machine.caches[0].size_bytes = l3_bytes;
    assert_int_equal(scan_count(&scan, "victim_slowdown"), 1);
    assert_true(isnan(value_of(&scan, "victim_slowdown", "l3", "stream")));
    assert_true(value_of(&scan, "caches_brought", "l3", "stream") < 2);
    assert_true(value_of(&scan, "victim_time", "l3", "stream") > 0);
    assert_int_equal((int)scan_value(&scan, "victim_bytes", "victim=l3"), 256 << 10);
}

TEST(cache_thrash_refuses)
{
    struct scan scan;
    static struct bench_machine poor;
    poor = machine;
    poor.ncpus = 1;
    const char *const l3[] = {"victim=l3", NULL}, *const other[] = {"where=other", NULL};
    assert_int_equal(scan_probe(&scan, &bench_cache_thrash, &poor, other), -ENOTSUP);
    assert_int_equal(scan_probe(&scan, &bench_cache_thrash, &poor, l3), 0);
    poor.ncpus = 2;
    poor.ncaches = 0;
    assert_int_equal(scan_probe(&scan, &bench_cache_thrash, &poor, l3), -ENOTSUP);
}
