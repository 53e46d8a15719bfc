#include "harness/judge/outlier.h"

#include <math.h>
#include <string.h>

#include "harness/base/stats.h"

/* Phi^-1(0.75): makes a MAD of normal values their standard deviation. */
static const double mad_scale = 0.6745;

const char *symmetry_verdict_name(enum symmetry_verdict verdict)
{
    static const char *const names[] = {"none", "alike", "odd", "two", "split"};
    return names[verdict];
}

/* Below 1 is worse. */
static double ratio_to(double value, double typical, enum symmetry_sense sense)
{
    if (value == typical)
        return 1; /* also of zeros */
    return sense == SYMMETRY_LOWER ? typical / value : value / typical;
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

static bool are_comparable(const struct symmetry_value *values, size_t n, enum symmetry_sense sense,
                           double least)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i].value) || values[i].value < 0 ||
            (values[i].value == 0 && sense == SYMMETRY_LOWER))
            return false;
        most = fmax(most, values[i].value);
    }
    return most > 0 || least > 0;
}

/* Fills the ratios, and notes in `odd` for now who fails them. */
static void compare_ratios(const struct symmetry_value *values, size_t n, enum symmetry_sense sense,
                           double least, struct symmetry_judgement *out)
{
    for (size_t i = 0; i < n; i++) {
        struct symmetry_opinion *unit = &out->unit[i];
        double typical = median_of_others(values, n, i);
        double best = values[i].best > 0 ? values[i].best : values[i].value;
        unit->ratio = ratio_to(values[i].value, typical, sense);
        unit->odd = unit->ratio < SYMMETRY_RATIO &&
                    ratio_to(best, typical, sense) < SYMMETRY_RATIO_BEST &&
                    fabs(values[i].value - typical) >= least;
    }
}

static bool is_dead(const struct symmetry_value *value, enum symmetry_sense sense)
{
    return sense == SYMMETRY_HIGHER && value->value == 0;
}

/* How many of those that fail the ratio are a group, and not odd ones; 0 where they are few. */
static size_t count_group(const struct symmetry_value *values, size_t n, enum symmetry_sense sense,
                          const struct symmetry_judgement *out)
{
    size_t nlow = 0, ndead = 0;
    for (size_t i = 0; i < n; i++) {
        bool dead = out->unit[i].odd && is_dead(&values[i], sense);
        nlow += out->unit[i].odd && !dead;
        ndead += dead;
    }
    return nlow > 1 && 4 * nlow > n - ndead ? nlow : 0;
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
    out->spread = apart > 0 && apart >= least ? apart / out->typical : 0;
    for (size_t i = 0; i < count; i++)
        peers[i] = fabs(peers[i] - out->typical);
    double mad = stats_median(peers, stats_sort(peers, count));
    if (n >= SYMMETRY_CAPPED_FROM && count < SYMMETRY_PEERS_ENOUGH)
        mad = fmin(mad, SYMMETRY_MAD_MOST * out->typical);
    return fmax(mad, SYMMETRY_MAD_LEAST * out->typical);
}

static enum symmetry_verdict judge_spread(const struct symmetry_judgement *out)
{
    return out->spread > SYMMETRY_SPREAD_MOST ? SYMMETRY_SPLIT : SYMMETRY_ALIKE;
}

static void judge_two(const struct symmetry_value *values, enum symmetry_sense sense, double least,
                      struct symmetry_judgement *out)
{
    bool differ = out->unit[0].odd || out->unit[1].odd;
    out->unit[0].odd = out->unit[1].odd = false;
    out->unit[0].z = out->unit[1].z = NAN;
    (void)measure_peers(values, 2, least, out);
    if (differ)
        out->typical = sense == SYMMETRY_LOWER ? fmin(values[0].value, values[1].value)
                                               : fmax(values[0].value, values[1].value);
    out->verdict = differ ? SYMMETRY_TWO : judge_spread(out);
}

static void judge_many(const struct symmetry_value *values, size_t n, enum symmetry_sense sense,
                       double least, struct symmetry_judgement *out)
{
    size_t group = count_group(values, n, sense, out);
    double mad = measure_peers(values, n, least, out);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        struct symmetry_opinion *unit = &out->unit[i];
        double distance = values[i].value - out->typical;
        unit->z = mad_scale * (sense == SYMMETRY_LOWER ? -distance : distance) / mad;
        unit->odd = unit->odd && (is_dead(&values[i], sense) || (!group && unit->z < -SYMMETRY_Z));
        any = any || unit->odd;
    }
    if (!group) /* those that fail the ratio alone are peers again */
        (void)measure_peers(values, n, least, out);
    if (any) {
        out->verdict = SYMMETRY_ODD;
    } else if (group) {
        out->nlow = group;
        out->verdict = SYMMETRY_SPLIT;
    } else {
        out->verdict = judge_spread(out);
    }
}

void symmetry_judge(const struct symmetry_value *values, size_t n, enum symmetry_sense sense,
                    double least, struct symmetry_judgement *out)
{
    memset(out, 0, sizeof(*out));
    if (n < 2 || n > SYMMETRY_UNITS_MAX || !are_comparable(values, n, sense, least))
        return;
    compare_ratios(values, n, sense, least, out);
    bool dead = is_dead(&values[0], sense) || is_dead(&values[1], sense);
    if (n == 2 && sense != SYMMETRY_WAITED && !dead)
        judge_two(values, sense, least, out);
    else
        judge_many(values, n, sense, least, out);
}
