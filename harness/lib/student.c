#include "harness/lib/student.h"

#include <float.h>
#include <math.h>

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
