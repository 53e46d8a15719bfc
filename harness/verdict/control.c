#include "harness/verdict/control.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"

/* The names of a metric, and the words for a higher and a lower value. */
static const struct word {
    const char *metric, *name, *more, *less;
} words[] = {
    {"canary_integer", "integer loop", "slower", "faster"},
    {"canary_latency", "latency in L1", "higher", "lower"},
    {"canary_copy", "copy of memory", "faster", "slower"},
    {"canary_time", "kernel", "slower", "faster"},
    {"canary_cycles", "kernel in clock cycles", "longer", "shorter"},
};

static const struct word *word_of(const char *metric)
{
    static const struct word other = {"", "", "more", "less"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].metric, metric) == 0)
            return &words[i];
    return &other;
}

/* "copy of memory", "kernel on GPU 0": the GPU is the only dimension of controls. */
static const char *name_value(const char *metric, const struct dims *at)
{
    const char *name = word_of(metric)->name;
    const char *text = str_fmt("%s", name[0] ? name : metric);
    if (at->n)
        str_add(&text, " ", "on GPU %.0f", at->of[0].at);
    return text;
}

static bool is_number(const struct round_value *value)
{
    return !isnan(value->value) && value->round != VALUE_NO_ROUND;
}

/* The values of all arms that watch the machine; they come last. */
static const struct round_value *first_of(const struct analysis *analysis,
                                          const struct round_value **end)
{
    const struct round_values *values = &analysis->values;
    size_t measured = result_measured(analysis->result);
    *end = values->value + values->n;
    return values->n ? values->value + values->first[measured] : *end;
}

const char *control_format(const char *metric, const struct dims *at, double ratio)
{
    const struct word *word = word_of(metric);
    double percent = 100 * fabs(ratio - 1);
    int decimals = percent >= 0.95 ? 0 : percent >= 0.095 ? 1 : 2;
    return str_fmt("%s: %.*f%% %s", name_value(metric, at), decimals, fmax(percent, 0.01),
                   ratio > 1 ? word->more : word->less);
}

/* The widest range of all metrics, as largest / smallest; 1 = none. */
static double find_widest(const struct analysis *analysis, const struct round_value **widest)
{
    double most = 1;
    const struct round_value *end, *at = first_of(analysis, &end);
    while (at < end) {
        const struct round_value *first = at;
        double low = INFINITY, high = 0;
        for (; at < end && values_alike(at, first); at++) {
            low = fmin(low, is_number(at) ? at->value : (double)INFINITY);
            high = fmax(high, is_number(at) ? at->value : 0);
        }
        if (low > 0 && high / low > most) {
            most = high / low;
            *widest = first;
        }
    }
    return most;
}

void control_find(const struct analysis *analysis, struct findings *findings)
{
    unsigned far = 0;
    size_t n = 0;
    struct finding finding = {.id = "machine_moved", .subject = "the machine itself"};
    const struct round_value *widest = NULL, *end, *first = first_of(analysis, &end);
    double range = find_widest(analysis, &widest);
    if (!widest || range <= 1 + CONTROL_STEADY)
        return;
    double *values = calloc((size_t)(end - first) + 1, sizeof(*values));
    findings->failed = findings->failed || !values;
    if (!values)
        return;
    for (const struct round_value *at = first; at < end; at++)
        if (is_number(at) && values_alike(at, widest))
            values[n++] = at->value;
    double median = stats_sort_median(values, n);
    for (size_t i = 0; i < n; i++)
        far += fmax(values[i] / median, median / values[i]) > 1 + CONTROL_STEADY;
    free(values);
    text_set(finding.sentence, "changed by %.0f%% from round to round (%s", 100 * (range - 1),
             name_value(widest->metric, &widest->dims));
    if (far)
        text_add(finding.sentence, ", %u of %zu rounds", far, n);
    text_add(finding.sentence, ")");
    findings_put(findings, &finding);
}
