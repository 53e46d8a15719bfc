#include "harness/verdict/runs/measured.h"

#include <math.h>
#include <string.h>

/* A median of which there are ratios. */
static bool has_value(const struct row *row)
{
    return row->median > 0 && isfinite(row->median) && row->status < STATUS_SKIPPED;
}

size_t measured_count(const struct pair *pair, enum pairing_side side)
{
    size_t n = 0;
    for (size_t i = 0; i < pair->n[side]; i++)
        n += has_value(pair->rows[side][i].row);
    return n;
}

bool measured_on_both(const struct pair *pair)
{
    return measured_count(pair, PAIRING_BASE) && measured_count(pair, PAIRING_OTHER);
}

double measured_direction(const struct row *row)
{
    return !strcmp(row->better, "lower") ? -1 : 1;
}

static void add_row(struct measured *measured, enum pairing_side side, const struct row *row,
                    double gain)
{
    moments_add(&measured->sides[side], gain);
    if (side == PAIRING_HISTORY)
        return;
    measured->rounds += pow(run_spread_of_rounds(row->ci_low, row->ci_high, row->rounds), 2);
    measured->noisy = measured->noisy || row->status == STATUS_NOISY;
    measured->bound[side] = measured->bound[side] || row->status == STATUS_CENSORED;
}

void measured_of(const struct pair *pair, const struct pair *mate, double round_s, double tail,
                 struct measured *measured)
{
    *measured = (struct measured){0};
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t i = 0; i < pair->n[side]; i++) {
            const struct row *row = pair->rows[side][i].row;
            const struct row *other = mate ? mate->rows[side][i].row : row;
            if (!has_value(row) || !has_value(other))
                continue;
            add_row(measured, side, row,
                    (measured_direction(row) * log(row->median) +
                     measured_direction(other) * log(other->median)) /
                        2);
        }
    size_t runs = measured->sides[PAIRING_BASE].n + measured->sides[PAIRING_OTHER].n;
    const struct run_spread_known known = {.noisy = measured->noisy,
                                           .round_s = round_s,
                                           .rounds = sqrt(measured->rounds / (double)runs)};
    measured->spread = run_spread_of(measured->sides, &known);
    measured->gain = measured->sides[PAIRING_OTHER].mean - measured->sides[PAIRING_BASE].mean;
    measured->half = run_spread_half_width(&measured->spread, measured->sides[PAIRING_BASE].n,
                                           measured->sides[PAIRING_OTHER].n, tail);
}

double measured_median(const struct pair *pair, enum pairing_side side)
{
    struct moments logs = {0};
    for (size_t i = 0; i < pair->n[side]; i++)
        if (has_value(pair->rows[side][i].row))
            moments_add(&logs, log(pair->rows[side][i].row->median));
    if (logs.n)
        return exp(logs.mean);
    return pair->n[side] ? pair->rows[side][0].row->median : (double)NAN;
}
