#include "harness/verdict/pairs/sequential.h"

#include <math.h>
#include <string.h>

/* Small ones for small changes over many rounds, and one for large changes over few, which has a
 * ninth of the stake: so ten rounds of one sign are enough at 1%, and others lose next to nothing.
 */
static const double lambdas[] = {0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4,
                                 0.5,  0.6,  0.7, 0.8,  0.9, 0.99};
static const double stake_on_large = 1.0 / 9;
enum { LAMBDAS = sizeof(lambdas) / sizeof(lambdas[0]), CHUNK = 64, BISECTIONS = 40 };

/* The spread assumed for the first rounds, and the least spread: equal figures have none. */
static const double first_scale = 0.01, least_scale = 1e-9, scale_spreads = 2;
enum { KNOWN_FROM = 4 };

/* Median distance from the median: from there the nearest values, one after the other. */
static double median_distance(const double *sorted, size_t n)
{
    double middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, distance = 0;
    size_t above = n / 2;
    size_t below = above;
    for (size_t taken = 0; taken <= n / 2 && (below > 0 || above < n); taken++) {
        double down = below > 0 ? middle - sorted[below - 1] : (double)INFINITY;
        double up = above < n ? sorted[above] - middle : (double)INFINITY;
        distance = fmin(down, up);
        if (down <= up)
            below--;
        else
            above++;
    }
    return fabs(distance);
}

void sequential_scale(struct sequential *of)
{
    double *sorted = of->scratch;
    for (size_t t = 0; t < of->n; t++) {
        of->scale[t] = t < KNOWN_FROM
                           ? first_scale
                           : fmax(scale_spreads * median_distance(sorted, t), least_scale);
        size_t at = t;
        while (at > 0 && sorted[at - 1] > of->x[t])
            at--;
        memmove(&sorted[at + 1], &sorted[at], (t - at) * sizeof(*sorted));
        sorted[at] = of->x[t];
    }
}

/* The wealth of a bet on differences above theta (sign 1) or below it (-1). */
static double bet(const struct sequential *of, double theta, double sign, double lambda)
{
    double sum = 0, product = 1; /* of a few: more would not fit into a double */
    for (size_t t = 0; t < of->n; t++) {
        double u = fmax(-1, fmin(1, sign * (of->x[t] - theta) / of->scale[t]));
        product *= 1 + lambda * u;
        if (t % CHUNK == CHUNK - 1) {
            sum += log(product);
            product = 1;
        }
    }
    return sum + log(product);
}

static double evidence(const struct sequential *of, double theta, double sign)
{
    double logs[LAMBDAS], most = -(double)INFINITY, sum = 0;
    for (size_t k = 0; k < LAMBDAS; k++) {
        double stake = k < LAMBDAS - 1 ? (1 - stake_on_large) / (LAMBDAS - 1) : stake_on_large;
        logs[k] = log(stake) + bet(of, theta, sign, lambdas[k]);
        most = fmax(most, logs[k]);
    }
    for (size_t k = 0; k < LAMBDAS; k++)
        sum += exp(logs[k] - most);
    return most + log(sum);
}

double sequential_above(const struct sequential *of, double theta)
{
    return evidence(of, theta, 1);
}

double sequential_below(const struct sequential *of, double theta)
{
    return evidence(of, theta, -1);
}

/* Where the evidence crosses `enough`, between a theta that has it and one that does not. */
static double bisect(const struct sequential *of, double sign, double rejected, double kept,
                     double enough)
{
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (rejected + kept) / 2;
        if (evidence(of, middle, sign) >= enough)
            rejected = middle;
        else
            kept = middle;
    }
    return rejected;
}

struct sequential_interval sequential_interval(const struct sequential *of, double alpha)
{
    struct sequential_interval interval = {-(double)INFINITY, (double)INFINITY};
    double enough = log(2 / alpha), least = (double)INFINITY, most = -(double)INFINITY;
    for (size_t t = 0; t < of->n; t++) { /* beyond these all u are 1, or all are -1 */
        least = fmin(least, of->x[t] - of->scale[t]);
        most = fmax(most, of->x[t] + of->scale[t]);
    }
    if (of->n && sequential_above(of, least) >= enough)
        interval.low = bisect(of, 1, least, most, enough);
    if (of->n && sequential_below(of, most) >= enough)
        interval.high = bisect(of, -1, most, least, enough);
    return interval;
}
