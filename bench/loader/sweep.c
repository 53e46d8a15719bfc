#include "bench/loader/sweep.h"

#include <math.h>

/* Loaders feed the device if its starvation is at most this share. */
static const double fed_below = 0.02;

unsigned sweep_counts(unsigned most, unsigned kinds, double share_s, double room_s,
                      unsigned counts[SWEEP_COUNTS_MOST])
{
    for (unsigned factor = 2;; factor *= 2) {
        unsigned n = 0;
        for (unsigned count = 1; count <= most && n < SWEEP_COUNTS_MOST; count *= factor)
            counts[n++] = count;
        if (n <= 2 || n * kinds * share_s <= room_s)
            return n;
    }
}

void sweep_join(struct point *point, const struct feeding_result *results, unsigned n)
{
    struct feeding_result *all = &point->result;
    *all = (struct feeding_result){.seconds = 0};
    for (unsigned r = 0; r < n; r++) {
        all->err = all->err.code ? all->err : results[r].err;
        all->seconds += results[r].seconds;
        all->batches += results[r].batches / results[r].seconds;
        all->starved_s += results[r].starved_s;
        all->read_rate += results[r].read_rate;
        all->cached = fmax(all->cached, results[r].cached);
        all->first_s += results[r].first_s / n;
        point->missed |= !(results[r].batches > 0 || results[r].starved_s > 0);
    }
}

bool sweep_has_values(const struct point *point)
{
    return !point->result.err.code && !point->missed;
}

double sweep_starvation(const struct point *point)
{
    return point->result.starved_s / point->result.seconds;
}

struct sweep_verdict sweep_judge(const struct point *points, size_t n)
{
    struct sweep_verdict verdict = {.scaling = NAN, .more = NAN};
    double best = 0, fewer = 0;
    while (verdict.n < n && sweep_has_values(&points[verdict.n]))
        verdict.n++;
    verdict.needed = verdict.n;
    for (size_t i = 0; i < verdict.n; i++) {
        best = fmax(best, points[i].result.batches);
        fewer = i + 1 < verdict.n ? best : fewer;
        if (verdict.needed == verdict.n && sweep_starvation(&points[i]) <= fed_below)
            verdict.needed = i;
    }
    if (verdict.n > 1 && points[0].result.batches > 0)
        verdict.scaling = best / points[0].result.batches;
    if (verdict.n > 1 && fewer > 0)
        verdict.more = points[verdict.n - 1].result.batches / fewer;
    return verdict;
}
