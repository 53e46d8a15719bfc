#include "harness/verdict/runs/canary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/stats.h"

/* What a metric is, for people: more of it is `more`, and the machine was `worse` then or not. */
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

/* "copy of memory", "kernel on GPU 0": the GPU is the one dimension that canaries have. */
static void name_value(const char *metric, const struct dims *at, char *buf, size_t size)
{
    char gpu[32] = "";
    const char *name = word_of(metric)->name;
    if (at->n)
        (void)snprintf(gpu, sizeof(gpu), " on GPU %.0f", at->of[0].at);
    (void)snprintf(buf, size, "%s%s", name[0] ? name : metric, gpu);
}

static bool is_number(const struct round_value *value)
{
    return !isnan(value->value) && value->round != VALUE_NO_ROUND;
}

/* The values of all arms that watch the machine. */
static const struct round_value *first_of(const struct analysis *analysis,
                                          const struct round_value **end)
{
    const struct round_values *values = &analysis->values;
    size_t measured = result_measured(analysis->result);
    *end = values->value + values->n;
    return values->n ? values->value + values->first[measured] : *end;
}

char *canary_say(const char *metric, const struct dims *at, double ratio, char *buf, size_t size)
{
    char name[160];
    const struct word *word = word_of(metric);
    name_value(metric, at, name, sizeof(name));
    double percent = 100 * fabs(ratio - 1);
    int decimals = percent >= 0.95 ? 0 : percent >= 0.095 ? 1 : 2;
    (void)snprintf(buf, size, "%s: %.*f%% %s", name, decimals, fmax(percent, 0.01),
                   ratio > 1 ? word->more : word->less);
    return buf;
}

/* The widest range of all metrics, as largest / smallest; 1 = there is none. */
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

/* ", 1 of 5 rounds": those that were far from the median; "" = none was. */
static int say_which(const struct analysis *analysis, const struct round_value *widest, char *buf,
                     size_t size, struct err *err)
{
    unsigned far = 0;
    size_t n = 0;
    const struct round_value *end, *first = first_of(analysis, &end);
    double *values = calloc((size_t)(end - first) + 1, sizeof(*values));
    if (!values)
        return err_set(err, -ENOMEM, "no memory for canary rows");
    for (const struct round_value *at = first; at < end; at++)
        if (is_number(at) && values_alike(at, widest))
            values[n++] = at->value;
    double median = stats_sort_median(values, n);
    for (size_t i = 0; i < n; i++)
        far += fmax(values[i] / median, median / values[i]) > 1 + CANARY_STEADY;
    buf[0] = '\0';
    if (far)
        (void)snprintf(buf, size, ", %u of %zu rounds", far, n);
    free(values);
    return 0;
}

int canary_find(const struct analysis *analysis, struct findings *findings, struct err *err)
{
    char name[160], which[64];
    const struct round_value *widest = NULL;
    double range = find_widest(analysis, &widest);
    if (!widest || range <= 1 + CANARY_STEADY)
        return 0;
    struct finding finding = {.id = "machine_moved", .subject = "the machine itself"};
    name_value(widest->metric, &widest->dims, name, sizeof(name));
    int rc = say_which(analysis, widest, which, sizeof(which), err);
    if (rc)
        return rc;
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "moved by %.0f%% from round to round (%s%s)", 100 * (range - 1), name, which);
    return findings_add(findings, &finding, err);
}
