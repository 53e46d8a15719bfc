#include "harness/machine/topo_kinds.h"

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

enum rank { BY_CAPACITY, BY_EFFICIENCY, BY_CLOCK, RANKS };

/* 0 = unknown. */
static double speed_of(const struct topo_kind *kind, enum rank rank)
{
    return rank == BY_CAPACITY     ? kind->capacity
           : rank == BY_EFFICIENCY ? kind->efficiency + 1
                                   : kind->max_mhz;
}

/* The first rank that all kinds have; RANKS = none. */
static enum rank find_rank(const struct topo_kind *kinds, unsigned n)
{
    enum rank rank = BY_CAPACITY;
    for (; rank < RANKS; rank++) {
        unsigned i = 0;
        while (i < n && speed_of(&kinds[i], rank) > 0)
            i++;
        if (i == n)
            break;
    }
    return rank;
}

/* The fastest kind that is not merged yet (-1); n = none. */
static unsigned find_next(const struct topo_kind *kinds, unsigned n, enum rank rank,
                          const int *merged)
{
    unsigned next = n;
    for (unsigned i = 0; i < n; i++) {
        double speed = speed_of(&kinds[i], rank);
        double most = next < n ? speed_of(&kinds[next], rank) : -1;
        if (merged[i] < 0 &&
            (speed > most || (!(speed < most) && kinds[i].base_mhz > kinds[next].base_mhz)))
            next = i;
    }
    return next;
}

unsigned topo_kinds_merge(const struct topo_kind *kinds, unsigned n, int *merged)
{
    const enum rank rank = find_rank(kinds, n);
    unsigned fastest = n, count = 0, next;
    for (unsigned i = 0; i < n; i++)
        merged[i] = rank == RANKS ? 0 : -1;
    while ((next = find_next(kinds, n, rank, merged)) < n) {
        if (fastest == n || !is_one_kind(&kinds[next], &kinds[fastest])) {
            fastest = next;
            count++;
        }
        merged[next] = (int)count;
    }
    for (unsigned i = 0; i < n && rank < RANKS; i++)
        merged[i] = (int)count - merged[i];
    return count ? count : 1;
}
