#include "kernels/collective/collective_lag.h"

#include <math.h>

/* The middle of a comparison of clocks, in us since origin_ns on the host's clock. */
static double middle_us(const struct collective_clock_pair *clock_pair, uint64_t origin_ns)
{
    return 0.5e-3 * ((double)(clock_pair->before_ns - origin_ns) +
                     (double)(clock_pair->after_ns - origin_ns));
}

static double window_us(const struct collective_clock_pair *clock_pair)
{
    return 1e-3 * (double)(clock_pair->after_ns - clock_pair->before_ns);
}

double collective_lag_us(const struct collective_clock_pair clock_pairs[2], uint64_t launched_ns,
                         double begin_us, double end_us)
{
    const double launch_us = 20;
    uint64_t origin_ns = clock_pairs[0].before_ns;
    double from_us = middle_us(&clock_pairs[0], origin_ns),
           to_us = middle_us(&clock_pairs[1], origin_ns);
    double passed_us = clock_pairs[1].device_us - clock_pairs[0].device_us;
    double rate = passed_us > 0 ? (to_us - from_us) / passed_us : 1;
    double launched_us = 1e-3 * (double)(launched_ns - origin_ns);
    double lag_us = launched_us - (from_us + (begin_us - clock_pairs[0].device_us) * rate);
    double window = fmax(window_us(&clock_pairs[0]), window_us(&clock_pairs[1]));
    if (lag_us > end_us - begin_us + window)
        return 0;
    return fmax(lag_us - fmax(launch_us, window), 0);
}
