#include "harness/machine/topo/topo_kinds.h"

#include <stdbool.h>
#include <string.h>

/*
 * Measured capacities of cores of one design differ by up to 3% (997 and 1024 on a DGX Spark), and
 * clocks of the best cores by 5% (Turbo Boost Max). Between designs lie 20% and more.
 */
static const double like_least = 0.9;

/* True if both are unknown. */
static bool is_near(double a, double b)
{
    return a < b ? a >= like_least * b : b >= like_least * a;
}

static bool is_one_kind(const struct topo_kind *a, const struct topo_kind *b)
{
    if (a->capacity > 0 && b->capacity > 0)
        return is_near(a->capacity, b->capacity);
    return a->max_mhz + a->base_mhz > 0 && strcmp(a->design, b->design) == 0 &&
           is_near(a->max_mhz, b->max_mhz) && is_near(a->base_mhz, b->base_mhz);
}

unsigned topo_kinds_merge(const struct topo_kind *kinds, unsigned n, int *merged)
{
    unsigned fastest = n, count = 0;
    for (unsigned i = n; i-- > 0;) {
        if (fastest == n || !is_one_kind(&kinds[i], &kinds[fastest])) {
            fastest = i;
            count++;
        }
        merged[i] = -(int)count;
    }
    for (unsigned i = 0; i < n; i++)
        merged[i] += (int)count;
    return count;
}
