#include "bench/memory/curve.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

struct piece {
    size_t begin, end; /* points begin..end-1 */
    double mean;       /* of log latency */
};

/* Pool adjacent violators: the non-decreasing sequence closest to log latency (least squares). */
static void make_monotone(const struct curve_point *points, size_t n, double *y)
{
    double mean[CURVE_POINTS_MAX];
    size_t count[CURVE_POINTS_MAX], pools = 0;
    for (size_t i = 0; i < n; i++) {
        mean[pools] = log(points[i].latency_ns);
        count[pools++] = 1;
        while (pools > 1 && mean[pools - 2] > mean[pools - 1]) {
            size_t both = count[pools - 2] + count[pools - 1];
            mean[pools - 2] = (mean[pools - 2] * (double)count[pools - 2] +
                               mean[pools - 1] * (double)count[pools - 1]) /
                              (double)both;
            count[pools - 2] = both;
            pools--;
        }
    }
    for (size_t p = 0, i = 0; p < pools; p++)
        for (size_t k = 0; k < count[p]; k++)
            y[i++] = mean[p];
}

/*
 * cost[e] = least error plus prices of the points before e; from[e] = where the last piece of that
 * solution begins. A further piece must save the error of a single point that is off by 20%.
 */
static size_t cut(const double *y, size_t n, struct piece *pieces)
{
    const double price = 0.2 * 0.2;
    double cost[CURVE_POINTS_MAX + 1];
    size_t from[CURVE_POINTS_MAX + 1] = {0};
    cost[0] = 0;
    for (size_t end = 1; end <= n; end++) {
        double sum = 0, squares = 0;
        cost[end] = INFINITY;
        for (size_t begin = end; begin-- > 0;) {
            sum += y[begin];
            squares += y[begin] * y[begin];
            double error = squares - sum * sum / (double)(end - begin);
            double total = cost[begin] + error + price;
            if (total < cost[end]) {
                cost[end] = total;
                from[end] = begin;
            }
        }
    }
    size_t count = 0;
    for (size_t end = n; end > 0; end = from[end])
        count++;
    size_t at = count;
    for (size_t end = n; end > 0; end = from[end]) {
        double sum = 0;
        for (size_t i = from[end]; i < end; i++)
            sum += y[i];
        pieces[--at] = (struct piece){from[end], end, sum / (double)(end - from[end])};
    }
    return count;
}

static bool is_plateau(const struct curve_point *points, const struct piece *piece)
{
    return points[piece->end - 1].size_bytes >= 2 * points[piece->begin].size_bytes;
}

/* The size at which y exceeds `level`, interpolated between the points around it. */
static double crossing(const struct curve_point *points, const double *y, size_t n, double level)
{
    for (size_t i = 1; i < n; i++) {
        if (y[i - 1] <= level && y[i] > level) {
            double share = (level - y[i - 1]) / (y[i] - y[i - 1]);
            return points[i - 1].size_bytes *
                   pow(points[i].size_bytes / points[i - 1].size_bytes, share);
        }
    }
    return points[n - 1].size_bytes;
}

size_t curve_find_steps(const struct curve_point *points, size_t n,
                        struct curve_step steps[CURVE_STEPS_MAX])
{
    const double least_rise = 1.5, step_share = 0.25;
    double y[CURVE_POINTS_MAX];
    struct piece pieces[CURVE_POINTS_MAX];
    const struct piece *below = NULL;
    size_t found = 0;
    assert(n <= CURVE_POINTS_MAX);
    if (n == 0)
        return 0;
    make_monotone(points, n, y);
    size_t count = cut(y, n, pieces);
    for (size_t p = 0; p < count && found < CURVE_STEPS_MAX; p++) {
        if (!is_plateau(points, &pieces[p]))
            continue;
        if (below && pieces[p].mean - below->mean >= log(least_rise)) {
            steps[found++] = (struct curve_step){
                .size_bytes = crossing(points, y, n,
                                       below->mean + step_share * (pieces[p].mean - below->mean)),
            };
        }
        below = &pieces[p];
    }
    return found;
}

double curve_find_knee(const double *load, const double *latency_ns, size_t n, double limit_ns)
{
    for (size_t i = 1; i < n; i++) {
        if (latency_ns[i] > limit_ns && latency_ns[i - 1] <= limit_ns) {
            double share = (limit_ns - latency_ns[i - 1]) / (latency_ns[i] - latency_ns[i - 1]);
            return load[i - 1] + share * (load[i] - load[i - 1]);
        }
    }
    return NAN;
}
