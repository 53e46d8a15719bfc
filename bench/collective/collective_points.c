#include "bench/collective/collective_points.h"

#include <math.h>

#include "harness/lib/stats.h"

size_t collective_range_count(const struct collective_range *range)
{
    size_t n = 1;
    for (uint64_t size = range->begin; size <= range->end / range->factor; size *= range->factor)
        n++;
    return n;
}

bool collective_fit(struct collective_call *call, uint64_t size, unsigned ranks)
{
    enum { PART_BYTES = 16 };
    uint64_t bytes = collective_type_bytes(call->type), count = size / bytes;
    bool has_parts = collective_has_parts(call->op);
    if (has_parts)
        count = count / ranks & ~(PART_BYTES / bytes - 1);
    call->count = count;
    call->bytes = count * bytes * (has_parts ? ranks : 1);
    return count > 0;
}

double collective_bus_factor(enum collective_op op, unsigned ranks)
{
    double share = (double)(ranks - 1) / ranks;
    if (op == COLLECTIVE_ALLREDUCE)
        return 2 * share;
    return collective_has_parts(op) ? share : 1;
}

uint64_t collective_iters(double share_s, double took_s, uint64_t done, unsigned batch,
                          uint64_t most)
{
    double want = took_s > 0 ? share_s / took_s * (double)done : (double)most;
    double capped = fmin(want, (double)most);
    uint64_t batches = capped >= 1 ? (uint64_t)capped / batch : 0;
    return (batches ? batches : 1) * batch;
}

struct collective_spread collective_spread_of(const struct collective_time *times, unsigned ranks,
                                              unsigned iters, double *scratch)
{
    for (unsigned i = 0; i < iters; i++) {
        scratch[i] = 0;
        for (unsigned rank = 0; rank < ranks; rank++)
            scratch[i] = fmax(scratch[i], (double)times[(size_t)rank * iters + i].period_us);
    }
    double median_us = stats_sort_median(scratch, iters); /* sorts scratch */
    return (struct collective_spread){.p50_us = median_us,
                                      .p99_us = stats_nearest_rank(scratch, iters, 99),
                                      .max_us = scratch[iters - 1]};
}

bool collective_names_last(enum collective_op op)
{
    return op == COLLECTIVE_ALLREDUCE || op == COLLECTIVE_ALLGATHER ||
           op == COLLECTIVE_REDUCESCATTER || op == COLLECTIVE_ALLTOALL;
}

void collective_find_lateness(const struct collective_time *times, unsigned ranks, unsigned iters,
                              struct collective_lateness *lateness)
{
    const double least_us = 0.5, least_share = 0.1;
    for (unsigned rank = 0; rank < ranks; rank++)
        lateness[rank] = (struct collective_lateness){.rank = rank};
    for (unsigned i = 0; i < iters; i++) {
        unsigned last = 0;
        double shortest = INFINITY, next = INFINITY;
        for (unsigned rank = 0; rank < ranks; rank++) {
            double busy = (double)times[(size_t)rank * iters + i].busy_us;
            if (busy < shortest) {
                next = shortest;
                shortest = busy;
                last = rank;
            } else {
                next = fmin(next, busy);
            }
        }
        if (next - shortest > fmax(least_us, least_share * next))
            lateness[last].last_share += 1.0 / iters;
        for (unsigned rank = 0; rank < ranks; rank++)
            lateness[rank].waited_us +=
                ((double)times[(size_t)rank * iters + i].busy_us - shortest) / iters;
    }
}
