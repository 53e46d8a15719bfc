#include "bench/cpu/turns.h"

#include "harness/lib/stats.h"

/* A chunk counts as warm up to this many times warm_ns. */
static const double warm_most = 1.2;

static void begin(struct turns *t, bool counts)
{
    t->n += t->begun && t->n < TURNS_MOST;
    t->turn[t->n] = (struct turn){.ns = 0};
    t->begun = counts;
}

void turns_add(struct turns *t, double ns, enum switched switched)
{
    if (switched)
        begin(t, switched == SWITCHED);
    if (!t->begun)
        return;
    struct turn *turn = &t->turn[t->n];
    turn->warm = turn->warm || (turn->chunks > 0 && ns <= warm_most * t->warm_ns);
    turn->refill_ns += turn->warm ? 0 : ns - t->warm_ns;
    turn->ns += ns;
    turn->chunks++;
    /* The switch is inside the first chunk, so the first lap ends one chunk later. */
    if (turn->chunks < t->lap + 2)
        turn->first_ns = turn->refill_ns / (turn->chunks < t->lap ? turn->chunks : t->lap);
}

struct turn turns_sum(const struct turns *t)
{
    double refill_ns[TURNS_MOST], first_ns[TURNS_MOST], ns[TURNS_MOST];
    unsigned warm = 0;
    for (unsigned i = 0; i < t->n; i++) {
        refill_ns[i] = t->turn[i].refill_ns;
        first_ns[i] = t->turn[i].first_ns;
        ns[i] = t->turn[i].ns;
        warm += t->turn[i].warm;
    }
    return (struct turn){.refill_ns = stats_sort_median(refill_ns, t->n),
                         .first_ns = stats_sort_median(first_ns, t->n),
                         .ns = stats_sort_median(ns, t->n),
                         .warm = 2 * warm >= t->n};
}
