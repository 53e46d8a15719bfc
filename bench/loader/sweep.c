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

void sweep_join(struct point *point, const struct fed *fed, unsigned n)
{
    struct fed *all = &point->fed;
    *all = (struct fed){.seconds = 0};
    for (unsigned r = 0; r < n; r++) {
        all->err = all->err.code ? all->err : fed[r].err;
        all->seconds += fed[r].seconds;
        all->batches += fed[r].batches / fed[r].seconds;
        all->starved_s += fed[r].starved_s;
        all->read_rate += fed[r].read_rate;
        all->cached = fmax(all->cached, fed[r].cached);
        all->first_s += fed[r].first_s / n;
        point->missed |= !(fed[r].batches > 0 || fed[r].starved_s > 0);
    }
}

bool sweep_has_values(const struct point *point)
{
    return !point->fed.err.code && !point->missed;
}

double sweep_starvation(const struct point *point)
{
    return point->fed.starved_s / point->fed.seconds;
}

struct sweep_verdict sweep_judge(const struct point *points, size_t n)
{
    struct sweep_verdict verdict = {.scaling = NAN, .more = NAN};
    double best = 0, fewer = 0;
    while (verdict.n < n && sweep_has_values(&points[verdict.n]))
        verdict.n++;
    verdict.needed = verdict.n;
    for (size_t i = 0; i < verdict.n; i++) {
        best = fmax(best, points[i].fed.batches);
        fewer = i + 1 < verdict.n ? best : fewer;
        if (verdict.needed == verdict.n && sweep_starvation(&points[i]) <= fed_below)
            verdict.needed = i;
    }
    if (verdict.n > 1 && points[0].fed.batches > 0)
        verdict.scaling = best / points[0].fed.batches;
    if (verdict.n > 1 && fewer > 0)
        verdict.more = points[verdict.n - 1].fed.batches / fewer;
    return verdict;
}
