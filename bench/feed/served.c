#include "bench/feed/served.h"

#include <math.h>

#include "harness/lib/stats.h"

struct served_part served_counted(const struct served *served)
{
    struct served_part part = {0};
    while (part.first < served->n && served->requests[part.first].at_ns < served->from_ns)
        part.first++;
    while (part.first + part.n < served->n &&
           served->requests[part.first + part.n].at_ns < served->to_ns)
        part.n++;
    return part;
}

static double ms_between(uint64_t from_ns, uint64_t to_ns)
{
    return 1e-6 * ((double)to_ns - (double)from_ns);
}

static double latency_of(const struct served *served, const struct served_request *request)
{
    if (request->done_ns)
        return ms_between(request->at_ns, request->done_ns);
    return -ms_between(request->at_ns, served->over_ns);
}

void served_latencies(const struct served *served, double *late_ms)
{
    struct served_part part = served_counted(served);
    for (size_t i = 0; i < part.n; i++)
        late_ms[i] = latency_of(served, &served->requests[part.first + i]);
}

size_t served_services(const struct served *served, double *service_ms)
{
    struct served_part part = served_counted(served);
    size_t n = 0;
    for (size_t i = part.first; i < part.first + part.n; i++)
        if (served->requests[i].done_ns)
            service_ms[n++] = ms_between(served->requests[i].begin_ns, served->requests[i].done_ns);
    return n;
}

size_t served_done(const struct served *served)
{
    size_t done = 0;
    for (size_t i = 0; i < served->n; i++)
        done += served->requests[i].done_ns >= served->from_ns &&
                served->requests[i].done_ns < served->to_ns;
    return done;
}

void served_worst(const struct served *served, uint64_t bin_ns, double *worst_ms, size_t n)
{
    struct served_part part = served_counted(served);
    for (size_t i = part.first; i < part.first + part.n; i++) {
        const struct served_request *request = &served->requests[i];
        size_t bin = (size_t)((request->at_ns - served->from_ns) / bin_ns);
        if (bin < n)
            worst_ms[bin] = fmax(worst_ms[bin], fabs(latency_of(served, request)));
    }
}

struct served_all served_sort(double *late_ms, size_t n)
{
    struct served_all all = {.ms = late_ms, .least_bound = INFINITY};
    for (size_t i = 0; i < n; i++)
        if (late_ms[i] < 0) {
            late_ms[i] = -late_ms[i];
            all.unserved++;
            all.least_bound = fmin(all.least_bound, late_ms[i]);
        }
    all.n = stats_sort(late_ms, n);
    return all;
}

/* The percentile lies between two ranks. It is a bound if the upper rank reaches the least bound:
 * the request of that bound may belong after all others. */
struct served_value served_percentile(const struct served_all *all, double fraction)
{
    struct served_value value = {.ms = stats_percentile(all->ms, all->n, fraction)};
    if (all->n)
        value.at_least = all->ms[(size_t)ceil((double)(all->n - 1) * fraction)] >= all->least_bound;
    return value;
}

enum served_known served_know(size_t n, double fraction)
{
    static const double rounding = 1e-9; /* 1000 * (1 - 0.99) is slightly less than 10 */
    double above = fraction < 1 ? (double)n * (1 - fraction) + rounding : (double)n * SERVED_ABOVE;
    return above >= SERVED_ABOVE ? SERVED_KNOWN : above >= 1 ? SERVED_FEW : SERVED_BEYOND;
}

struct served_saturation served_saturate(const double *loads, const double *p99_ms, size_t n,
                                         double limit_ms)
{
    size_t past = 0;
    while (past < n && !(p99_ms[past] > limit_ms))
        past++;
    if (past == 0)
        return (struct served_saturation){.load = loads[0], .low = true};
    if (past == n)
        return (struct served_saturation){.load = loads[n - 1], .high = true};
    double below = log(p99_ms[past - 1]), above = log(p99_ms[past]);
    double share = (log(limit_ms) - below) / (above - below);
    return (struct served_saturation){.load = loads[past - 1] +
                                              share * (loads[past] - loads[past - 1])};
}
