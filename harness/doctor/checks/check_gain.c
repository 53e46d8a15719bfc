/* The gains that findings promise. Declared in check.h. */
#include <math.h>

#include "harness/doctor/checks/check.h"

struct check_gain check_gain_of_more(double oncpu_s, double more_s, bool is_team_waiting)
{
    return (struct check_gain){(oncpu_s + more_s) / oncpu_s,
                               is_team_waiting ? "threads that wait for each other may gain more"
                                               : NULL};
}

/* Spinning beyond this share is not resolved. */
static const double resolved = 0.875;

double check_times_of_spin(double share)
{
    return 1 / (1 - fmin(share, resolved));
}

/*
 * The lower bound of a spin share. Samples took spinning for up to 5% of the time too long: shares
 * of 86, 92 and 98% where the fix gained 7.9x, 7.9x and 16x, which are 87, 87 and 94%. To this the
 * error of the sampling comes, at 95%.
 */
static double least_share(double share, unsigned samples)
{
    static const double too_long = 0.05, one_sided_95 = 1.645;
    const double error = one_sided_95 * sqrt(share * (1 - share) / (samples ? samples : 1));
    return fmin(fmax(share - too_long - error, 0), resolved);
}

/*
 * Work is CPU time that is not spun away. Before, it is ran * (1 - share). After, each of the
 * threads has a CPU of its own, or shares `room` CPUs evenly with what the others want. Others
 * waited for these CPUs as the crowd did, so they want more than they got: others * wanted / ran.
 *
 * Two teams of two threads on two CPUs that spin for 95% of 1.6 CPUs, beside others that get 0.4 of
 * them and want 1: 2 * 2 / 3 / (1.6 * 0.125), 6.7x instead of 8x.
 */
struct check_gain check_gain_of_fewer(const struct check_spin *spin)
{
    static const double least = 1.1;
    const double before = 1 - least_share(spin->share, spin->samples);
    double times = 1 / before;
    if (spin->threads > 0) {
        const double others = spin->others * fmax(spin->wanted / spin->ran, 1);
        const double threads = fmin(spin->threads, spin->room);
        times = threads * fmin(1, spin->room / (threads + others)) / (spin->ran * before);
    }
    if (isnan(spin->share) || !(times >= least))
        return (struct check_gain){.times = NAN};
    return (struct check_gain){times, "by the samples of their spinning"};
}
