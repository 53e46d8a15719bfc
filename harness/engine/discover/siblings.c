#include "harness/engine/discover/measured_parts.h"

#include <math.h>

#include "harness/lib/stats/stats.h"

/* See measured.h. */
static const double slow_alone = 1.25, slow_with_latency = 1.10;
static const double near_share = 0.5, not_far_share = 0.8;
enum { NEAR_PARTNERS = 3 };

static double median_of(const struct measured_work *work, unsigned a, unsigned b, bool latency)
{
    double values[64];
    size_t n = 0;
    for (unsigned s = 0; s < work->nscans && n < sizeof(values) / sizeof(values[0]); s++) {
        const struct measured_view *scan = &work->scan[s];
        values[n++] = (latency ? scan->latency_ns : scan->slowdown)[measured_at(work, a, b)];
    }
    return stats_sort_median(values, n);
}

double measured_latency(const struct measured_work *work, unsigned a, unsigned b)
{
    return median_of(work, a, b, true);
}

double measured_slowdown(const struct measured_work *work, unsigned a, unsigned b)
{
    return median_of(work, a, b, false);
}

static bool is_near(const struct measured_work *work, const struct measured_view *scan, unsigned a,
                    unsigned b)
{
    return scan->latency_ns[measured_at(work, a, b)] < near_share * scan->median_ns;
}

static bool has_few_near(const struct measured_work *work, const struct measured_view *scan,
                         unsigned a)
{
    unsigned near = 0;
    for (unsigned b = 0; b < work->n; b++)
        near += b != a && is_near(work, scan, a, b);
    return near <= NEAR_PARTNERS;
}

static bool behave_as_siblings(const struct measured_work *work, const struct measured_view *scan,
                               unsigned a, unsigned b)
{
    double latency = scan->latency_ns[measured_at(work, a, b)];
    double slowdown = scan->slowdown[measured_at(work, a, b)];
    bool comparable = !isnan(latency) && !isnan(scan->median_ns);
    if (slowdown > slow_alone && (!comparable || latency < not_far_share * scan->median_ns))
        return true;
    if (!comparable || !is_near(work, scan, a, b) || slowdown <= slow_with_latency)
        return false;
    return has_few_near(work, scan, a) && has_few_near(work, scan, b);
}

static void judge_scan(const struct measured_work *work, struct measured_view *scan)
{
    for (unsigned a = 0; a < work->n; a++)
        for (unsigned b = 0; b < work->n; b++)
            scan->siblings[measured_at(work, a, b)] =
                a != b && behave_as_siblings(work, scan, a, b);
}

/* a's partners are each other's too: one core, of however many threads. */
static bool is_closed(const struct measured_work *work, const bool *siblings, unsigned a)
{
    for (unsigned b = 0; b < work->n; b++)
        for (unsigned c = 0; c < b; c++)
            if (siblings[measured_at(work, a, b)] && siblings[measured_at(work, a, c)] &&
                !siblings[measured_at(work, b, c)])
                return false;
    return true;
}

/* Held by every scan, and no scan gives either of the two another partner that does not hold. */
static void find_firm(struct measured_work *work)
{
    for (unsigned a = 0; a < work->n; a++) {
        bool holds = is_closed(work, work->ever, a);
        for (unsigned b = 0; b < work->n; b++) {
            size_t at = measured_at(work, a, b);
            holds = holds && work->ever[at] == work->always[at];
        }
        for (unsigned b = 0; b < work->n; b++)
            work->firm[measured_at(work, a, b)] = holds && work->always[measured_at(work, a, b)];
    }
    for (unsigned a = 0; a < work->n; a++)
        for (unsigned b = 0; b < a; b++) {
            bool both = work->firm[measured_at(work, a, b)] && work->firm[measured_at(work, b, a)];
            work->firm[measured_at(work, a, b)] = work->firm[measured_at(work, b, a)] = both;
        }
}

void measured_find_siblings(struct measured_work *work)
{
    for (unsigned s = 0; s < work->nscans; s++)
        judge_scan(work, &work->scan[s]);
    for (size_t i = 0; i < measured_cells(work); i++) {
        work->always[i] = true;
        for (unsigned s = 0; s < work->nscans; s++) {
            if (isnan(work->scan[s].latency_ns[i]) && isnan(work->scan[s].slowdown[i]))
                continue; /* this scan knows nothing of the two */
            work->ever[i] = work->ever[i] || work->scan[s].siblings[i];
            work->always[i] = work->always[i] && work->scan[s].siblings[i];
        }
        work->always[i] = work->always[i] && work->ever[i];
    }
    find_firm(work);
    for (unsigned a = 0; a < work->n; a++) {
        unsigned first = 0;
        while (first < a && !work->firm[measured_at(work, a, first)])
            first++;
        work->core[a] = first < a ? work->core[first] : (int)work->ncores++;
    }
}
