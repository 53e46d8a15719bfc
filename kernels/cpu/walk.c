#include "kernels/cpu/walk.h"

#include "kernels/cpu/mix64.h"

void walk_stream(struct walk *walk, size_t touches)
{
    size_t at = (size_t)(walk->touches % walk->lines);
    walk->touches += touches;
    while (touches) {
        size_t end = walk->lines - at < touches ? walk->lines : at + touches;
        touches -= end - at;
        for (; at < end; at++)
            walk->area[at].touched++;
        at = 0;
    }
}

void walk_random(struct walk *walk, size_t touches)
{
    for (size_t i = 0; i < touches; i++) {
        unsigned __int128 product = (unsigned __int128)mix64(walk->touches + i) * walk->lines;
        walk->area[(size_t)(product >> 64)].touched++;
    }
    walk->touches += touches;
}

void walk_idle(struct walk *walk, size_t steps)
{
    uint64_t x = walk->touches;
    for (size_t i = 0; i < steps; i++) {
        x = x * x + 1; /* a dependent chain: hardly slows an SMT sibling */
        __asm__ volatile("" : "+r"(x));
    }
}

uint64_t walk_sum(const struct walk *walk)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < walk->lines; i++)
        sum += walk->area[i].touched;
    return sum;
}
