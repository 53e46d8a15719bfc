#include "harness/doctor/gain.h"

#include <math.h>

/* A smaller gain is not worth a change to a running job. */
static const double least_gain = 1.05;

/* The total at a time; the step under way counts in part. */
static double total_at(const struct gain_sample *samples, size_t n, double at_s)
{
    size_t next = 1;
    while (next < n && samples[next].at_s <= at_s)
        next++;
    const struct gain_sample *one = &samples[next - 1], *other = one + 1;
    if (next < n)
        return one->value +
               (other->value - one->value) * (at_s - one->at_s) / (other->at_s - one->at_s);
    /* The next step is assumed to take as long as the last one, and counts as one at most. */
    if (n < 3)
        return one->value;
    double took_s = one->at_s - one[-1].at_s;
    return one->value + (one->value - one[-1].value) * fmin((at_s - one->at_s) / took_s, 1);
}

size_t gain_count(const struct gain_sample *samples, size_t n, double from_s, double to_s)
{
    size_t seen = 0;
    for (size_t i = 0; i < n; i++)
        seen += samples[i].at_s > from_s && samples[i].at_s <= to_s;
    return seen;
}

double gain_growth(const struct gain_sample *samples, size_t n, double from_s, double to_s)
{
    if (gain_count(samples, n, from_s, to_s) < 2)
        return NAN;
    return (total_at(samples, n, to_s) - total_at(samples, n, from_s)) / (to_s - from_s);
}

double gain_mean(const struct gain_sample *samples, size_t n, double from_s, double to_s,
                 bool leave_first)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        if (samples[i].at_s <= from_s || samples[i].at_s > to_s)
            continue;
        if (!leave_first) {
            sum += samples[i].value;
            count++;
        }
        leave_first = false;
    }
    return count > 0 ? sum / count : (double)NAN;
}

double gain_block_s(double left_s, double change_s, size_t done, double shortest_s,
                    double longest_s)
{
    double pairs = done < GAIN_PAIRS_WANTED ? (double)(GAIN_PAIRS_WANTED - done) : 1;
    return fmin(fmax(left_s / (2 * pairs) - change_s, shortest_s), longest_s);
}

struct evidence gain_make(const struct gain_pairs *pairs)
{
    struct evidence gain = evidence_none;
    struct evidence_runs runs = {.known.nothing = true, .tail = 0.025};
    double before = 0, after = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        const double log_before = log(pairs->before[i]), log_after = log(pairs->after[i]);
        before += pairs->before[i] / (double)pairs->n;
        after += pairs->after[i] / (double)pairs->n;
        if (pairs->are_starts)
            moments_add(&runs.sides[RUN_SPREAD_BASE], log_before);
        moments_add(&runs.sides[RUN_SPREAD_OTHER],
                    pairs->are_starts ? log_after : log_after - log_before);
    }
    if (pairs->n >= GAIN_PAIRS_LEAST)
        gain = evidence_of_runs(&runs);
    gain.base = before;
    gain.other = after;
    gain.outcome = gain.low > 1              ? OUTCOME_FASTER
                   : gain.high <= least_gain ? OUTCOME_SAME
                                             : OUTCOME_UNCLEAR;
    return gain;
}

const char *gain_name(const struct evidence *gain)
{
    return gain->outcome == OUTCOME_FASTER ? "proven"
           : gain->outcome == OUTCOME_SAME ? "none"
                                           : "unclear";
}
