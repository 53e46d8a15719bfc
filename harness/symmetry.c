#include "harness/symmetry.h"

#include <math.h>
#include <string.h>

#include "harness/stats.h"

/* Phi^-1(0.75): makes a MAD of normal values their standard deviation. */
static const double mad_scale = 0.6745;

const char *symmetry_verdict_name(enum symmetry_verdict verdict)
{
    static const char *const names[] = {"none", "alike", "odd", "two", "split"};
    return names[verdict];
}

/* Below 1 is worse. */
static double ratio_to(double value, double typical, bool higher)
{
    return higher ? value / typical : typical / value;
}

static double median_of_others(const struct symmetry_value *values, size_t n, size_t without)
{
    double others[SYMMETRY_UNITS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (i != without)
            others[count++] = values[i].value;
    return stats_median(others, stats_sort(others, count));
}

static bool are_positive(const struct symmetry_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(values[i].value > 0) || !isfinite(values[i].value))
            return false;
    return true;
}

/* Fills the ratios, and notes in `odd` for now who fails them. */
static void compare_ratios(const struct symmetry_value *values, size_t n, bool higher, double least,
                           struct symmetry_judgement *out)
{
    for (size_t i = 0; i < n; i++) {
        struct symmetry_opinion *unit = &out->unit[i];
        double typical = median_of_others(values, n, i);
        double best = values[i].best > 0 ? values[i].best : values[i].value;
        unit->ratio = ratio_to(values[i].value, typical, higher);
        unit->odd = unit->ratio < SYMMETRY_RATIO &&
                    ratio_to(best, typical, higher) < SYMMETRY_RATIO_BEST &&
                    fabs(values[i].value - typical) >= least;
        out->nlow += unit->odd;
    }
}

/* Median and spread of those that are not odd, and their MAD. */
static double measure_peers(const struct symmetry_value *values, size_t n, double least,
                            struct symmetry_judgement *out)
{
    double peers[SYMMETRY_UNITS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!out->unit[i].odd)
            peers[count++] = values[i].value;
    count = stats_sort(peers, count);
    out->typical = stats_median(peers, count);
    double apart = peers[count - 1] - peers[0];
    out->spread = apart < least ? 0 : apart / out->typical;
    for (size_t i = 0; i < count; i++)
        peers[i] = fabs(peers[i] - out->typical);
    double mad = stats_median(peers, stats_sort(peers, count));
    if (count < SYMMETRY_PEERS_ENOUGH)
        mad = fmin(mad, SYMMETRY_MAD_MOST * out->typical);
    return fmax(mad, SYMMETRY_MAD_LEAST * out->typical);
}

static void judge_two(const struct symmetry_value *values, bool higher, double least,
                      struct symmetry_judgement *out)
{
    bool differ = out->nlow > 0;
    out->unit[0].odd = out->unit[1].odd = false;
    out->unit[0].z = out->unit[1].z = NAN;
    (void)measure_peers(values, 2, least, out);
    if (differ)
        out->typical = higher ? fmax(values[0].value, values[1].value)
                              : fmin(values[0].value, values[1].value);
    out->verdict = differ ? SYMMETRY_TWO : SYMMETRY_ALIKE;
}

static void judge_split(const struct symmetry_value *values, size_t n, double least,
                        struct symmetry_judgement *out)
{
    (void)measure_peers(values, n, least, out);
    for (size_t i = 0; i < n; i++) {
        out->unit[i].odd = false;
        out->unit[i].z = NAN;
    }
    out->verdict = SYMMETRY_SPLIT;
}

void symmetry_judge(const struct symmetry_value *values, size_t n, bool higher, double least,
                    struct symmetry_judgement *out)
{
    memset(out, 0, sizeof(*out));
    if (n < 2 || n > SYMMETRY_UNITS_MAX || !are_positive(values, n))
        return;
    compare_ratios(values, n, higher, least, out);
    if (n == 2) {
        judge_two(values, higher, least, out);
        return;
    }
    if (out->nlow > 1 && 4 * out->nlow > n) {
        judge_split(values, n, least, out);
        return;
    }
    double mad = measure_peers(values, n, least, out);
    out->verdict = SYMMETRY_ALIKE;
    for (size_t i = 0; i < n; i++) {
        struct symmetry_opinion *unit = &out->unit[i];
        double distance = values[i].value - out->typical;
        unit->z = mad_scale * (higher ? distance : -distance) / mad;
        unit->odd = unit->odd && unit->z < -SYMMETRY_Z;
        if (unit->odd)
            out->verdict = SYMMETRY_ODD;
    }
}
