#include "bench/common/counts.h"

size_t counts_doubled(unsigned most, unsigned *counts, size_t n)
{
    size_t filled = 0;
    for (unsigned count = 1; count < most && filled + 1 < n; count *= 2)
        counts[filled++] = count;
    counts[filled++] = most;
    return filled;
}
