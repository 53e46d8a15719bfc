#include "harness/lib/sequential.h"

#include <math.h>
#include <string.h>

/* Shares of the stake. Separation has a fifth, so that six rounds suffice at 1%. Small lambdas
 * detect small changes over many rounds. The largest lambda has a ninth of the rest, so that twelve
 * rounds of equal sign suffice without separation. */
static const double stake_on_separation = 0.2, stake_on_large = 1.0 / 9;
static const double lambdas[] = {0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4,
                                 0.5,  0.6,  0.7, 0.8,  0.9, 0.99};
/* The share of the bet on separation that pays for the right sign alone. */
static const double hedge = 0.2;
enum { LAMBDAS = sizeof(lambdas) / sizeof(lambdas[0]), CHUNK = 64, BISECTIONS = 40 };

/* c_t of the first rounds, and the least c_t, as equal values have no spread. */
static const double first_scale = 0.01, least_scale = 1e-9, scale_spreads = 2;
enum { KNOWN_FROM = 4 };

static double middle_of(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* Median absolute deviation: visits the values in order of their distance from the median. */
static double median_distance(const double *sorted, size_t n)
{
    double middle = middle_of(sorted, n), distance = 0;
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

static void insert(double *sorted, size_t n, double value)
{
    size_t at = n;
    while (at > 0 && sorted[at - 1] > value)
        at--;
    memmove(&sorted[at + 1], &sorted[at], (n - at) * sizeof(*sorted));
    sorted[at] = value;
}

void sequential_prepare(struct sequential *of)
{
    double *sorted = of->scratch;
    for (size_t t = 0; t < of->n; t++) {
        of->scale[t] = t < KNOWN_FROM
                           ? first_scale
                           : fmax(scale_spreads * median_distance(sorted, t), least_scale);
        insert(sorted, t, of->x[t]);
    }
    for (size_t t = 0; t < of->n; t++) {
        of->shift[t] = t ? fabs(of->sum[t] - middle_of(sorted, t)) : 0;
        insert(sorted, t, of->sum[t]);
    }
}

/* Logarithm of the wealth of a bet on differences above theta (sign 1) or below it (-1). */
static double bet(const struct sequential *of, double theta, double sign, double lambda)
{
    double sum = 0, product = 1; /* of CHUNK factors: more could leave the range of a double */
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

/* The same for a bet that all differences lie on that side of theta, and a threshold separates. */
static double bet_on_separation(const struct sequential *of, double theta, double sign)
{
    size_t separated = 0, swapped = 0;
    for (size_t t = 0; t < of->n; t++) {
        double u = sign * (of->x[t] - theta);
        if (!(u > 0))
            return -(double)INFINITY;
        separated += t > 0 && u > of->shift[t];
        swapped += of->swapped[t];
    }
    if (swapped == 0 || swapped == of->n)
        return -(double)INFINITY;
    return log(2) + (double)separated * log(4 * (1 - hedge) + 2 * hedge) +
           (double)(of->n - 1 - separated) * log(2 * hedge);
}

static double evidence(const struct sequential *of, double theta, double sign)
{
    double logs[LAMBDAS + 1], most, sum = 0;
    most = logs[LAMBDAS] = log(stake_on_separation) + bet_on_separation(of, theta, sign);
    for (size_t k = 0; k < LAMBDAS; k++) {
        double stake = k < LAMBDAS - 1 ? (1 - stake_on_large) / (LAMBDAS - 1) : stake_on_large;
        logs[k] = log((1 - stake_on_separation) * stake) + bet(of, theta, sign, lambdas[k]);
        most = fmax(most, logs[k]);
    }
    for (size_t k = 0; k <= LAMBDAS; k++)
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

/* The theta, between `rejected` and `kept`, at which the evidence crosses `enough`. */
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
    for (size_t t = 0; t < of->n; t++) { /* a theta beyond these has no more evidence */
        double reach = 2 * fmax(of->scale[t], of->shift[t]);
        least = fmin(least, of->x[t] - reach);
        most = fmax(most, of->x[t] + reach);
    }
    if (of->n && sequential_above(of, least) >= enough)
        interval.low = bisect(of, 1, least, most, enough);
    if (of->n && sequential_below(of, most) >= enough)
        interval.high = bisect(of, -1, most, least, enough);
    return interval;
}
