#include "harness/lib/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t stats_sort(double *values, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]))
            values[kept++] = values[i];
    if (kept)
        qsort(values, kept, sizeof(*values), compare_double);
    return kept;
}

double stats_percentile(const double *sorted, size_t n, double fraction)
{
    if (n == 0)
        return NAN;
    double h = (double)(n - 1) * fraction;
    size_t below = (size_t)h;
    if (below + 1 >= n)
        return sorted[n - 1];
    double low = sorted[below], high = sorted[below + 1];
    if (h == (double)below)
        return low; /* avoids 0 * infinity */
    /* Rounding must not carry the result above its upper neighbour: percentiles are monotone. */
    return fmin(low + (h - (double)below) * (high - low), high);
}

double stats_median(const double *sorted, size_t n)
{
    return stats_percentile(sorted, n, 0.5);
}

double stats_sort_median(double *values, size_t n)
{
    n = stats_sort(values, n);
    return stats_median(values, n);
}

double stats_nearest_rank(const double *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

/* Bets against "the median is not above the value": each gains 1 + lambda on a value above it and
 * loses lambda below it. The stake on lambda 1 makes six equal signs suffice. */
static const double stake_on_all = 0.625, stake_each = 0.375 / 4, lambdas[] = {0.1, 0.2, 0.4, 0.7};

/* True if the bets refute, at 2.5%, that only `below` of n values lie below the median by chance.
 */
static bool is_refuted(size_t n, size_t below)
{
    double won = below ? 0 : stake_on_all * exp2((double)n);
    for (size_t i = 0; i < sizeof(lambdas) / sizeof(lambdas[0]); i++)
        won += stake_each *
               exp((double)(n - below) * log1p(lambdas[i]) + (double)below * log1p(-lambdas[i]));
    return won >= 1 / 0.025;
}

size_t stats_median_rank(size_t n)
{
    size_t rank = 0, beyond = n / 2;
    while (rank + 1 < beyond) { /* refuted at rank, or rank is 0; not refuted at beyond */
        size_t middle = (rank + beyond) / 2;
        *(is_refuted(n, middle) ? &rank : &beyond) = middle;
    }
    return rank;
}

struct stats_interval stats_median_interval(const double *sorted, size_t n)
{
    if (n < 2)
        return (struct stats_interval){(double)NAN, (double)NAN};
    size_t rank = stats_median_rank(n);
    return (struct stats_interval){sorted[rank], sorted[n - 1 - rank]};
}

void random_shuffle(uint64_t seed, size_t n, size_t *order)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)(random_next(&seed) % i);
        size_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* The continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    enum { MOST = 500 };
    const double tiny = DBL_MIN / DBL_EPSILON;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double sum = d;
    for (int m = 1; m <= MOST; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int step = 0; step < 2; step++) {
            double term = step ? odd : even;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            sum *= d * c;
        }
        if (fabs(d * c - 1) < 4 * DBL_EPSILON)
            break;
    }
    return sum;
}

/* I_x(a, b), regularized. */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_tail(double t, double df)
{
    double half = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
    return t >= 0 ? half : 1 - half;
}

static double density(double t, double df)
{
    double front = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * acos(-1));
    return front * exp(-(df + 1) / 2 * log1p(t * t / df));
}

/* The tail is convex above 0, so Newton steps from below never overshoot the quantile. */
double student_quantile(double tail, double df)
{
    enum { STEPS = 100 };
    double t = 0, next = 1;
    while (student_tail(next, df) > tail && next < DBL_MAX / 2) {
        t = next;
        next *= 2;
    }
    for (int i = 0; i < STEPS; i++) {
        double step = (student_tail(t, df) - tail) / density(t, df);
        if (!(step > 1e-12 * t))
            break;
        t += step;
    }
    return t;
}

/* Shares of the stake. Separation has a fifth, so that six rounds suffice at 1%. Small lambdas
 * detect small changes over many rounds. The largest lambda has a ninth of the rest, so that twelve
 * rounds of equal sign suffice without separation. */
static const double stake_on_separation = 0.2, stake_on_large = 1.0 / 9;
static const double sequential_lambdas[] = {0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4,
                                            0.5,  0.6,  0.7, 0.8,  0.9, 0.99};
/* The share of the bet on separation that pays for the right sign alone. */
static const double hedge = 0.2;
enum {
    LAMBDAS = sizeof(sequential_lambdas) / sizeof(sequential_lambdas[0]),
    CHUNK = 64,
    BISECTIONS = 40
};

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
        logs[k] =
            log((1 - stake_on_separation) * stake) + bet(of, theta, sign, sequential_lambdas[k]);
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
