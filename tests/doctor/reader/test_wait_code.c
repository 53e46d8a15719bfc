/* Code that waits, by its bytes around a sample. */
#include "harness/doctor/reader/samples.h"
#include "tests/lib/unit.h"

/* What waits_in puts around: a `mov` and an `add`, four bytes each, for both kinds of CPUs. */
static const uint8_t plain[] = {
#ifdef __aarch64__
    0xe0, 0x03, 0x01, 0xaa, 0x00,
    0x04, 0x00, 0x91
#else
    0x48, 0x89, 0xc8, 0xc3, 0x48,
    0x83, 0xc0, 0x01
#endif
};

/* The bytes `words` at offset `at`, in code that computes. */
static enum waits waits_in(size_t at, const void *words, size_t size)
{
    uint8_t code[WAIT_CODE_BYTES];
    for (size_t i = 0; i < sizeof(code); i++)
        code[i] = plain[i % sizeof(plain)];
    memcpy(code + at, words, size);
    return wait_code_find(code);
}

TEST(code_that_computes_does_not_wait)
{
    assert_int_equal(waits_in(0, plain, sizeof(plain)), WAITS_NOT);
}

#ifdef __aarch64__

TEST(four_nops_wait)
{
    static const uint32_t nops[] = {0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f};
    assert_int_equal(waits_in(0, nops, sizeof(nops)), WAITS_PAUSE);
    assert_int_equal(waits_in(48, nops, sizeof(nops)), WAITS_PAUSE);
    assert_int_equal(waits_in(32, nops, 3 * sizeof(nops[0])), WAITS_NOT);
}

TEST(instructions_to_wait_are_near_the_sample)
{
    static const uint32_t yield = 0xd503203f, calls[] = {0xd2800f88, 0xd4000001};
    assert_int_equal(waits_in(32, &yield, sizeof(yield)), WAITS_PAUSE);
    assert_int_equal(waits_in(8, &yield, sizeof(yield)), WAITS_NOT);
    assert_int_equal(waits_in(24, calls, sizeof(calls)), WAITS_CALL);
}

#else

/* OpenBLAS' loop in numpy's wheels: eight nops, then the clock; the sample is at any of them. */
TEST(four_nops_wait)
{
    static const uint8_t loop[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x31};
    for (size_t at = 0; at + sizeof(loop) <= WAIT_CODE_BYTES; at++)
        assert_int_equal(waits_in(at, loop, sizeof(loop)), WAITS_PAUSE);
    assert_int_equal(waits_in(60, loop, 4), WAITS_PAUSE);
    assert_int_equal(waits_in(30, loop, 3), WAITS_NOT);
}

/* What assemblers align loops with. */
TEST(padding_does_not_wait)
{
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } pads[] = {{{0x0f, 0x1f, 0x40, 0}, 4},
                {{0x66, 0x90, 0x66, 0x90}, 4},
                {{0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 11},
                {{0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc}, 8}};
    for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++)
        assert_int_equal(waits_in(28, pads[i].bytes, pads[i].size), WAITS_NOT);
}

TEST(instructions_to_wait_are_near_the_sample)
{
    static const uint8_t pause[] = {0xf3, 0x90}, yields[] = {0xb8, 24, 0, 0, 0, 0x0f, 0x05},
                         sleeps[] = {0xb8, 202, 0, 0, 0, 0x0f, 0x05},
                         reads[] = {0xb8, 0, 0, 0, 0, 0x0f, 0x05};
    assert_int_equal(waits_in(16, pause, sizeof(pause)), WAITS_PAUSE);
    assert_int_equal(waits_in(44, pause, sizeof(pause)), WAITS_PAUSE);
    assert_int_equal(waits_in(14, pause, sizeof(pause)), WAITS_NOT);
    assert_int_equal(waits_in(25, yields, sizeof(yields)), WAITS_CALL);
    assert_int_equal(waits_in(25, sleeps, sizeof(sleeps)), WAITS_CALL);
    assert_int_equal(waits_in(25, reads, sizeof(reads)), WAITS_NOT);
    assert_int_equal(waits_in(42, yields, sizeof(yields)), WAITS_NOT);
}

#endif
