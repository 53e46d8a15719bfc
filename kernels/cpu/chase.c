#include "kernels/cpu/chase.h"

#include <string.h>

#include "kernels/cpu/mix64.h"

/* A number below `bound`, without a division: the high half of a product. */
static size_t below(uint64_t random, size_t bound)
{
    return (size_t)((unsigned __int128)random * bound >> 64);
}

static size_t earlier_line(uint64_t seed, size_t line)
{
    return below(mix64(seed ^ mix64(line)), line);
}

void chase_grow(struct chase_line *memory, size_t from, size_t lines, uint64_t seed)
{
    /* Prefetch distance in lines: without it, every insertion waits for a cache miss. */
    enum { AHEAD = 16 };
    if (from == 0 && lines > 0) {
        memory[0].next = memory;
        from = 1;
    }
    for (size_t i = from; i < lines; i++) {
        if (i + AHEAD < lines)
            __builtin_prefetch(&memory[earlier_line(seed, i + AHEAD)], 1);
        struct chase_line *before = &memory[earlier_line(seed, i)];
        memory[i].next = before->next;
        before->next = &memory[i];
    }
}

struct chase_line *chase_walk(struct chase_line *at, uint64_t loads)
{
    /* volatile: the compiler must make all loads, although only the last result is used. */
    for (uint64_t i = 0; i < loads; i += CHASE_STEP) {
#pragma GCC unroll 64
        for (int step = 0; step < CHASE_STEP; step++)
            at = *(struct chase_line *volatile *)&at->next;
    }
    return at;
}

/* The index of a line; `lines` if the pointer is not that of a line. */
static size_t index_of(const struct chase_line *memory, size_t lines, const struct chase_line *line)
{
    uintptr_t offset = (uintptr_t)line - (uintptr_t)memory;
    if (offset % sizeof(*memory) || offset / sizeof(*memory) >= lines)
        return lines;
    return offset / sizeof(*memory);
}

size_t chase_find_fault(const struct chase_line *memory, size_t lines, uint64_t *visited)
{
    memset(visited, 0, (lines + 63) / 64 * sizeof(*visited));
    for (size_t i = 0; i < lines; i++) {
        size_t next = index_of(memory, lines, memory[i].next);
        if (next == lines || visited[next / 64] >> next % 64 & 1)
            return i;
        visited[next / 64] |= 1ull << next % 64;
    }
    return lines;
}

bool chase_is_cycle(const struct chase_line *memory, size_t lines)
{
    size_t at = 0;
    for (size_t i = 0; i < lines; i++) {
        at = index_of(memory, lines, memory[at].next);
        if (at == lines || (at == 0) != (i + 1 == lines))
            return false;
    }
    return true;
}
