#include "harness/verdict/runs/run_spread.h"

#include <math.h>

#include "harness/lib/stats/stats.h"
#include "harness/lib/stats/student.h"

void moments_add(struct moments *moments, double value)
{
    double from = value - moments->mean;
    moments->n++;
    moments->mean += from / (double)moments->n;
    moments->squares += from * (value - moments->mean);
}

struct run_spread run_spread_of(const struct moments groups[RUN_SPREAD_GROUPS],
                                const struct run_spread_known *known)
{
    double squares = 0, df = 0, before = RUN_SPREAD_BEFORE * (known->noisy ? RUN_SPREAD_NOISY : 1);
    bool few = groups[RUN_SPREAD_BASE].n < RUN_SPREAD_RUNS_LEAST ||
               groups[RUN_SPREAD_OTHER].n < RUN_SPREAD_RUNS_LEAST;
    bool enough_runs = !few;
    for (size_t i = 0; i < RUN_SPREAD_GROUPS; i++) {
        squares += groups[i].squares;
        df += groups[i].n ? (double)groups[i].n - 1 : 0;
        enough_runs = enough_runs || groups[i].n >= RUN_SPREAD_LONG;
    }
    if (enough_runs && squares > df * before * before)
        return (struct run_spread){.sd = fmax(sqrt(squares / df), few ? known->rounds : 0),
                                   .df = df};
    if (!enough_runs && known->round_s > 0)
        before *= sqrt(fmax(1, RUN_SPREAD_ROUND_S / known->round_s));
    struct run_spread spread = {.sd = sqrt((squares + RUN_SPREAD_BEFORE_DF * before * before) /
                                           (df + RUN_SPREAD_BEFORE_DF)),
                                .df = RUN_SPREAD_BEFORE_DF + (enough_runs ? df : 0),
                                .own_sd = df > 0 ? sqrt(squares / df) : 0,
                                .own_df = enough_runs ? 0 : df};
    if (few)
        spread.sd = fmax(spread.sd, known->rounds);
    return spread;
}

/* The spread of the difference of two means, if the spread of one run is 1. */
static double error_of(size_t base_runs, size_t other_runs)
{
    return sqrt(1 / (double)base_runs + 1 / (double)other_runs);
}

double run_spread_half_width(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                             double tail)
{
    double half = student_quantile(tail, spread->df) * spread->sd;
    if (spread->own_df > 0)
        half = fmax(half, student_quantile(tail, spread->own_df) * spread->own_sd);
    return half * error_of(base_runs, other_runs);
}

double run_spread_chance(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                         double difference)
{
    double off = fabs(difference) / error_of(base_runs, other_runs);
    double chance = student_tail(off / spread->sd, spread->df);
    if (spread->own_df > 0 && spread->own_sd > 0)
        chance = fmax(chance, student_tail(off / spread->own_sd, spread->own_df));
    return 2 * chance;
}

unsigned run_spread_runs_needed(const struct run_spread *spread, double difference, double tail,
                                unsigned most)
{
    const double missed = 0.1;
    for (unsigned runs = 2; runs <= most; runs++) {
        double df = spread->df;
        if (runs >= RUN_SPREAD_RUNS_LEAST)
            df = fmax(df, 2.0 * runs - 2 + RUN_SPREAD_BEFORE_DF);
        double reach = student_quantile(tail, df) + student_quantile(missed, df);
        if (fabs(difference) > reach * spread->sd * sqrt(2.0 / runs))
            return runs;
    }
    return 0;
}

double run_spread_of_rounds(double low, double high, unsigned rounds)
{
    const double median_error = 1.2533; /* of a median, relative to a mean: sqrt(pi / 2) */
    const double normal_df = 1e6;
    if (!(low > 0) || !(high >= low) || rounds < 2)
        return 0;
    /* Of normal values, the end lies beyond this share of them (Blom 1958). */
    double beyond = ((double)stats_median_rank(rounds) + 0.625) / (rounds + 0.25);
    double width = 2 * student_quantile(beyond, normal_df); /* expected, in standard deviations */
    return median_error * log(high / low) / width / sqrt(rounds);
}
