#include "harness/verdict/outlier.h"

#include <math.h>
#include <string.h>

#include "harness/lib/stats.h"

/* Phi^-1(0.75): scales a MAD of normal values to their standard deviation. */
static const double mad_scale = 0.6745;

const char *outlier_verdict_name(enum outlier_verdict verdict)
{
    static const char *const names[] = {"none", "alike", "odd", "two", "split"};
    return names[verdict];
}

/* Below 1 is worse. */
static double ratio_to(double value, double typical, enum outlier_sense sense)
{
    if (value == typical)
        return 1; /* also for two zeros */
    return sense == OUTLIER_LOWER ? typical / value : value / typical;
}

static double median_of_others(const struct outlier_value *values, size_t n, size_t without)
{
    double others[OUTLIER_UNITS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (i != without)
            others[count++] = values[i].value;
    return stats_median(others, stats_sort(others, count));
}

static double low_of(const struct outlier_value *value)
{
    return isfinite(value->low) ? value->low : value->value;
}

static double high_of(const struct outlier_value *value)
{
    return isfinite(value->high) ? value->high : value->value;
}

static bool are_comparable(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                           double least)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i].value) || values[i].value < 0 ||
            (values[i].value == 0 && sense == OUTLIER_LOWER))
            return false;
        most = fmax(most, values[i].value);
    }
    return most > 0 || least > 0;
}

/* Fills the ratios, and marks the units that fail them in `odd`, for now. */
static void compare_ratios(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                           double least, struct outlier_judgement *out)
{
    for (size_t i = 0; i < n; i++) {
        struct outlier_opinion *unit = &out->unit[i];
        double typical = median_of_others(values, n, i);
        double best = sense == OUTLIER_LOWER ? low_of(&values[i]) : high_of(&values[i]);
        unit->ratio = ratio_to(values[i].value, typical, sense);
        unit->odd = unit->ratio < OUTLIER_RATIO &&
                    ratio_to(best, typical, sense) < OUTLIER_RATIO_BEST &&
                    fabs(values[i].value - typical) >= least;
    }
}

static bool is_dead(const struct outlier_value *value, enum outlier_sense sense)
{
    return sense == OUTLIER_HIGHER && value->value == 0;
}

/* The number of units that fail the ratio if they form a group; 0 if they are few enough to be
 * odd. */
static size_t count_group(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                          const struct outlier_judgement *out)
{
    size_t nlow = 0, ndead = 0;
    for (size_t i = 0; i < n; i++) {
        bool dead = out->unit[i].odd && is_dead(&values[i], sense);
        nlow += out->unit[i].odd && !dead;
        ndead += dead;
    }
    return nlow > 1 && 4 * nlow > n - ndead ? nlow : 0;
}

/* Fills median and spread of the units that are not odd. Returns their MAD, within its limits. */
static double measure_peers(const struct outlier_value *values, size_t n, double least,
                            struct outlier_judgement *out)
{
    double peers[OUTLIER_UNITS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!out->unit[i].odd)
            peers[count++] = values[i].value;
    count = stats_sort(peers, count);
    out->typical = stats_median(peers, count);
    double apart = peers[count - 1] - peers[0];
    out->spread = apart > 0 && apart >= least ? apart / out->typical : 0;
    for (size_t i = 0; i < count; i++)
        peers[i] = fabs(peers[i] - out->typical);
    double mad = stats_median(peers, stats_sort(peers, count));
    if (n >= OUTLIER_CAPPED_FROM && count < OUTLIER_PEERS_ENOUGH)
        mad = fmin(mad, OUTLIER_MAD_MOST * out->typical);
    return fmax(mad, OUTLIER_MAD_LEAST * out->typical);
}

static bool extremes_overlap(const struct outlier_value *values, size_t n)
{
    const struct outlier_value *least = values, *most = values;
    for (size_t i = 1; i < n; i++) {
        least = values[i].value < least->value ? &values[i] : least;
        most = values[i].value > most->value ? &values[i] : most;
    }
    return high_of(least) >= low_of(most);
}

static enum outlier_verdict judge_spread(const struct outlier_value *values, size_t n,
                                         const struct outlier_judgement *out)
{
    bool apart = out->spread > OUTLIER_SPREAD_MOST && !extremes_overlap(values, n);
    return apart ? OUTLIER_SPLIT : OUTLIER_ALIKE;
}

static void judge_two(const struct outlier_value *values, enum outlier_sense sense, double least,
                      struct outlier_judgement *out)
{
    bool differ = out->unit[0].odd || out->unit[1].odd;
    out->unit[0].odd = out->unit[1].odd = false;
    out->unit[0].z = out->unit[1].z = NAN;
    (void)measure_peers(values, 2, least, out);
    if (differ)
        out->typical = sense == OUTLIER_LOWER ? fmin(values[0].value, values[1].value)
                                              : fmax(values[0].value, values[1].value);
    out->verdict = differ ? OUTLIER_TWO : judge_spread(values, 2, out);
}

static void judge_many(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                       double least, struct outlier_judgement *out)
{
    size_t group = count_group(values, n, sense, out);
    double mad = measure_peers(values, n, least, out);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        struct outlier_opinion *unit = &out->unit[i];
        double distance = values[i].value - out->typical;
        unit->z = mad_scale * (sense == OUTLIER_LOWER ? -distance : distance) / mad;
        unit->odd = unit->odd && (is_dead(&values[i], sense) || (!group && unit->z < -OUTLIER_Z));
        any = any || unit->odd;
    }
    if (!group) /* units that fail only the ratio are peers again */
        (void)measure_peers(values, n, least, out);
    if (any) {
        out->verdict = OUTLIER_ODD;
    } else if (group) {
        out->nlow = group;
        out->verdict = OUTLIER_SPLIT;
    } else {
        out->verdict = judge_spread(values, n, out);
    }
}

void outlier_judge(const struct outlier_value *values, size_t n, enum outlier_sense sense,
                   double least, struct outlier_judgement *out)
{
    memset(out, 0, sizeof(*out));
    if (n < 2 || n > OUTLIER_UNITS_MAX || !are_comparable(values, n, sense, least))
        return;
    compare_ratios(values, n, sense, least, out);
    bool dead = is_dead(&values[0], sense) || is_dead(&values[1], sense);
    if (n == 2 && sense != OUTLIER_WAITED && !dead)
        judge_two(values, sense, least, out);
    else
        judge_many(values, n, sense, least, out);
}
