#include "bench/cpu/pairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/mix64.h"

const struct bench_dim pairs_dims[] = {
    [BY_A] = {"a", DIM_PAIR}, [BY_B] = {"b", DIM_PAIR}, {.name = NULL}};

size_t pairs_count(unsigned n)
{
    return (size_t)n * (n - 1) / 2;
}

size_t pairs_index(unsigned n, unsigned a, unsigned b)
{
    size_t low = a < b ? a : b, high = a < b ? b : a;
    return low * n - low * (low + 1) / 2 + high - low - 1;
}

unsigned pairs_slots(unsigned n)
{
    return n % 2 ? n : n - 1;
}

/*
 * With m = n rounded up to an even number, CPUs 0..m-2 form a circle: the partner of i in slot s
 * is the j with i + j = s (mod m - 1). If j would be i, it is m - 1, which is outside the circle.
 */
int pairs_partner(unsigned n, unsigned slot, unsigned cpu)
{
    unsigned circle = pairs_slots(n), last = circle, partner;
    if (cpu == last)
        /* 2 i = slot (mod circle), and the inverse of 2 is (circle + 1) / 2. */
        partner = (unsigned)((uint64_t)slot * ((circle + 1) / 2) % circle);
    else if ((partner = (slot + circle - cpu) % circle) == cpu)
        partner = last;
    return partner < n ? (int)partner : -1;
}

/* A power of two, for Sylvester's matrix; at least 8, so that few CPUs also get runs alone. */
static unsigned columns_for(unsigned n)
{
    unsigned columns = 8;
    while (columns < n)
        columns *= 2;
    return columns;
}

unsigned pairs_runs(unsigned n)
{
    return 2 * (columns_for(n) - 1);
}

bool pairs_plan_init(struct pairs_plan *plan, unsigned n, unsigned passes, uint64_t seed)
{
    *plan = (struct pairs_plan){n, passes, columns_for(n), pairs_runs(n), NULL};
    plan->columns = calloc((size_t)passes * plan->ncolumns, sizeof(*plan->columns));
    for (unsigned pass = 0; plan->columns && pass < passes; pass++)
        pairs_shuffle(plan->columns + (size_t)pass * plan->ncolumns, plan->ncolumns,
                      mix64(seed + pass));
    return plan->columns != NULL;
}

void pairs_plan_free(struct pairs_plan *plan)
{
    free(plan->columns);
    *plan = (struct pairs_plan){0};
}

/* Row 0 and its negative are the two runs that are left out. */
bool pairs_busy(const struct pairs_plan *plan, unsigned pass, unsigned run, unsigned cpu)
{
    unsigned column = plan->columns[(size_t)pass * plan->ncolumns + cpu];
    unsigned rows = plan->ncolumns - 1, row = 1 + run % rows;
    bool negative = __builtin_popcount(row & column) % 2;
    return negative != (run >= rows);
}

static double slowdown_of(const struct pairs_plan *plan, const float *rates, unsigned a, unsigned b)
{
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (unsigned pass = 0; pass < plan->passes; pass++)
        for (unsigned run = 0; run < plan->runs; run++) {
            float rate = rates[((size_t)pass * plan->runs + run) * plan->n + a];
            if (isnan(rate))
                continue;
            bool both = pairs_busy(plan, pass, run, b);
            sum[both] += (double)rate;
            count[both]++;
        }
    return sum[0] / count[0] / (sum[1] / count[1]);
}

double pairs_slowdown(const struct pairs_plan *plan, const float *rates, unsigned a, unsigned b)
{
    return sqrt(slowdown_of(plan, rates, a, b) * slowdown_of(plan, rates, b, a));
}

void pairs_shuffle(unsigned *order, unsigned n, uint64_t seed)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (unsigned)(mix64(seed + i) % (i + 1));
        order[i] = order[at];
        order[at] = i;
    }
}

bool pairs_have_room(unsigned n, unsigned metrics)
{
    return pairs_count(n) <= (VALUES_MAX - 1) / metrics;
}

bool pairs_fit_one_by_one(unsigned n, double pair_s, double budget_s)
{
    const double room_least_s = 6, room_of_budget = 8;
    return (double)pairs_count(n) * pair_s <= fmax(room_least_s, room_of_budget * budget_s);
}

int pairs_probe(const struct bench_ctx *ctx, unsigned metrics)
{
    unsigned n = ctx->machine->ncpus;
    if (n < 2)
        return err_set(ctx->err, -ENOTSUP, "needs at least two CPUs, and may use only one");
    if (!pairs_have_room(n, metrics))
        return err_set(ctx->err, -ENOTSUP, "%u CPUs have %zu pairs, room is for %u", n,
                       pairs_count(n), (VALUES_MAX - 1) / metrics);
    return 0;
}

void pairs_emit(struct bench_ctx *ctx, unsigned metric, unsigned a, unsigned b, double value,
                const char *doubt)
{
    unsigned x = ctx->machine->cpus[a].os_cpu, y = ctx->machine->cpus[b].os_cpu;
    bench_emit_doubt(ctx, metric, value, doubt, DIMS({BY_A, x < y ? x : y}, {BY_B, x < y ? y : x}));
}
