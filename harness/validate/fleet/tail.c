#include "harness/validate/fleet/tail.h"

#include <math.h>

#include "harness/lib/stats/stats.h"

enum { HALVINGS = 60, LEAST = 20 };

double tail_normal(double probability)
{
    double low = 0, high = 8;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(middle / sqrt(2)) > probability)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The quantile at a probability of the distribution with location 0 and scale 1. */
static double standard_quantile(double probability, double shape)
{
    double reduced = -log(-log(probability));
    return shape < 1e-6 ? reduced : expm1(shape * reduced) / shape;
}

/* Of three quantiles: the distance of the upper two / that of the lower two. */
static double upper_to_lower(const double points[3], double shape)
{
    double middle = standard_quantile(points[1], shape);
    return (standard_quantile(points[2], shape) - middle) /
           (middle - standard_quantile(points[0], shape));
}

/* The shape that has this ratio of the distances between the points; it grows with it. */
static double find_shape(const double points[3], double ratio)
{
    double low = 0, high = 0.5;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (upper_to_lower(points, middle) < ratio)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double tail_of_maxima(double *maxima, size_t n, double beyond)
{
    n = stats_sort(maxima, n);
    if (n < LEAST)
        return NAN;
    double far = fmin(0.05, fmax(0.005, 50 / (double)n));
    const double points[3] = {0.5, 1 - sqrt(0.5 * far), 1 - far};
    double at[3];
    for (int i = 0; i < 3; i++)
        at[i] = stats_percentile(maxima, n, points[i]);
    double shape = at[1] > at[0] ? find_shape(points, (at[2] - at[1]) / (at[1] - at[0])) : 0;
    shape *= (double)n / ((double)n + 500);
    double first = standard_quantile(points[0], shape);
    double scale = (at[2] - at[0]) / (standard_quantile(points[2], shape) - first);
    return at[0] + scale * (standard_quantile(1 - beyond, shape) - first);
}
