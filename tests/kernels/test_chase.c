/* Chains by walking them and by counting what they visit. */
#include "kernels/cpu/chase.h"
#include "tests/lib/unit.h"

enum { MOST = 5000, GUARD = 4 };

static const size_t sizes[] = {1, 2, 3, 16, 17, 63, 64, 65, 1000, MOST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static _Alignas(64) struct chase_line memory[MOST + GUARD], other[MOST + GUARD];
static uint64_t seen[(MOST + 63) / 64];

static void spoil(struct chase_line *lines)
{
    memset(lines, 0xa5, (MOST + GUARD) * sizeof(*lines));
}

static void assert_spoiled(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(((const unsigned char *)bytes)[i], 0xa5);
}

/* One cycle over 0..lines-1; only the links are written. */
static void assert_cycle(const struct chase_line *chain, size_t lines)
{
    static unsigned cpu_samples[MOST];
    memset(cpu_samples, 0, sizeof(cpu_samples));
    const struct chase_line *at = chain;
    for (size_t i = 0; i < lines; i++) {
        assert_in_range((uintptr_t)at, (uintptr_t)chain, (uintptr_t)(chain + lines - 1));
        cpu_samples[at - chain]++;
        at = at->next;
    }
    assert_ptr_equal(at, chain);
    for (size_t i = 0; i < lines; i++) {
        assert_int_equal(cpu_samples[i], 1);
        assert_spoiled(chain[i].unused, sizeof(chain[i].unused));
    }
    assert_spoiled(chain + lines, GUARD * sizeof(*chain));
    assert_true(chase_is_cycle(chain, lines));
    assert_int_equal(chase_find_fault(chain, lines, seen), lines);
}

TEST(chase_grow_makes_one_cycle)
{
    for (int s = 0; s < SIZES; s++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            spoil(memory);
            chase_grow(memory, 0, sizes[s], seed);
            assert_cycle(memory, sizes[s]);
        }
}

/* Growing a working set in steps makes the same chains as growing it at once. */
TEST(chase_grow_in_steps_is_growing_at_once)
{
    spoil(memory);
    for (int s = 0; s < SIZES; s++) {
        chase_grow(memory, s ? sizes[s - 1] : 0, sizes[s], 11);
        assert_cycle(memory, sizes[s]);
        spoil(other);
        chase_grow(other, 0, sizes[s], 11);
        for (size_t i = 0; i < sizes[s]; i++)
            assert_int_equal(memory[i].next - memory, other[i].next - other);
    }
}

/* Cycles over five lines, identified by their order from line 0 on, are equally frequent over many
 * seeds. */
static void assert_uniform(void (*link)(uint64_t seed))
{
    enum { SEEDS = 24000, CYCLES = 24 };
    static unsigned counts[5 * 5 * 5 * 5];
    size_t distinct = 0;
    memset(counts, 0, sizeof(counts));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        link(seed);
        size_t code = 0;
        for (struct chase_line *at = memory[0].next; at != memory; at = at->next)
            code = code * 5 + (size_t)(at - memory);
        counts[code]++;
    }
    for (size_t code = 0; code < sizeof(counts) / sizeof(counts[0]); code++) {
        if (!counts[code])
            continue;
        distinct++;
        assert_in_range(counts[code], 850, 1150); /* 1000 +- 5 standard deviations */
    }
    assert_int_equal(distinct, CYCLES);
}

static void grow_five(uint64_t seed)
{
    chase_grow(memory, 0, 5, seed);
}

TEST(chase_grow_is_uniform_over_cycles)
{
    assert_uniform(grow_five);
}

/* Few lines are followed by their neighbour, so prefetchers gain little. */
TEST(chase_grow_is_not_sequential)
{
    size_t near = 0;
    chase_grow(memory, 0, MOST, 3);
    for (size_t i = 0; i < MOST; i++)
        near += labs(memory[i].next - &memory[i]) <= 2;
    assert_true(near < MOST / 100);
}

TEST(chase_walk_makes_the_loads)
{
    static const struct {
        uint64_t asked, made;
    } walks[] = {{0, 0}, {1, 64}, {64, 64}, {65, 128}, {6400, 6400}, {6401, 6464}};
    chase_grow(memory, 0, 1000, 5);
    for (int w = 0; w < 6; w++) {
        struct chase_line *want = &memory[17];
        for (uint64_t i = 0; i < walks[w].made; i++)
            want = want->next;
        assert_ptr_equal(chase_walk(&memory[17], walks[w].asked), want);
    }
    /* 64 x 125 = 8 x 1000 steps: full laps, back to the start. */
    assert_ptr_equal(chase_walk(&memory[17], UINT64_C(64) * 125), &memory[17]);
}

enum { LINES = 1000 };

/* Plants one bad link, checks that it is found, and restores it. */
static void assert_fault(struct chase_line *chain, size_t at, struct chase_line *bad, size_t found)
{
    struct chase_line *good = chain[at].next;
    chain[at].next = bad;
    assert_int_equal(chase_find_fault(chain, LINES, seen), found);
    assert_false(chase_is_cycle(chain, LINES));
    chain[at].next = good;
    assert_int_equal(chase_find_fault(chain, LINES, seen), LINES);
}

TEST(chase_find_fault_finds_it)
{
    struct chase_line *chain = memory + 1; /* leaves a line before the first */
    chase_grow(chain, 0, LINES, 9);
    static const size_t places[] = {0, 1, 63, 64, 500, LINES - 1};
    for (int p = 0; p < 6; p++) {
        size_t at = places[p];
        char *inside = (char *)chain[at].next + 8;
        assert_fault(chain, at, NULL, at);
        assert_fault(chain, at, chain + LINES, at);
        assert_fault(chain, at, memory, at);
        assert_fault(chain, at, (struct chase_line *)(void *)inside, at);
        /* Two links have the same target: the later link is the fault. */
        size_t twin = (at + 10) % LINES;
        assert_fault(chain, at, chain[twin].next, at > twin ? at : twin);
    }
}

/* Two links swapped: every line is a target once, but there are two cycles. */
TEST(chase_is_cycle_sees_two)
{
    for (size_t lines = 2; lines <= 1000; lines += 499) {
        chase_grow(memory, 0, lines, 13);
        struct chase_line *next = memory[0].next;
        memory[0].next = memory[1].next;
        memory[1].next = next;
        assert_int_equal(chase_find_fault(memory, lines, seen), lines);
        assert_false(chase_is_cycle(memory, lines));
    }
}
