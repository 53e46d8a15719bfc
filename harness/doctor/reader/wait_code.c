#include "harness/doctor/reader/wait_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Bytes on either side of the sample. A loop of `nop` may be longer, as it reads the clock. */
enum { NEAR = 16 };

/* Four in a row: what aligns code is one longer instruction on x86, and up to three on aarch64. */
static bool has_nops(const uint8_t *code, size_t size)
{
#ifdef __aarch64__
    static const uint32_t nops[] = {0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f};
    const size_t step = 4;
#else
    static const uint8_t nops[] = {0x90, 0x90, 0x90, 0x90};
    const size_t step = 1;
#endif
    for (size_t i = 0; i + sizeof(nops) <= size; i += step)
        if (memcmp(code + i, nops, sizeof(nops)) == 0)
            return true;
    return false;
}

/* Code that calls sched_yield (24; on aarch64 124) or futex (202; 98), with the number. */
static enum waits find_near(const uint8_t *code, size_t size)
{
#ifdef __aarch64__
    static const uint32_t yield = 0xd503203f, isb = 0xd5033fdf;
    static const uint32_t calls[][2] = {{0xd2800f88, 0xd4000001}, {0xd2800c48, 0xd4000001}};
    const size_t step = 4;
#else
    static const uint8_t pause[] = {0xf3, 0x90};
    static const uint8_t calls[][7] = {{0xb8, 24, 0, 0, 0, 0x0f, 0x05},
                                       {0xb8, 202, 0, 0, 0, 0x0f, 0x05}};
    const size_t step = 1;
#endif
    for (size_t i = 0; i + 4 <= size; i += step) {
#ifdef __aarch64__
        uint32_t word;
        memcpy(&word, code + i, sizeof(word));
        if (word == yield || word == isb)
            return WAITS_PAUSE;
#else
        if (memcmp(code + i, pause, sizeof(pause)) == 0)
            return WAITS_PAUSE;
#endif
        for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
            if (i + sizeof(calls[c]) <= size && memcmp(code + i, calls[c], sizeof(calls[c])) == 0)
                return WAITS_CALL;
    }
    return WAITS_NOT;
}

enum waits wait_code_find(const uint8_t code[static WAIT_CODE_BYTES])
{
    return has_nops(code, WAIT_CODE_BYTES)
               ? WAITS_PAUSE
               : find_near(code + WAIT_CODE_BYTES / 2 - NEAR, (size_t)2 * NEAR);
}
