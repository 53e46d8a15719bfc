#include "harness/verdict/runs/canary.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/stats/stats.h"
#include "harness/rows/key.h"

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

/* "copy of memory", "kernel on GPU 0". */
static void name_value(const char *metric, const char *key, char *buf, size_t size)
{
    char gpu[VALUE_KEY_MAX];
    const char *name = word_of(metric)->name;
    bool on_gpu = key_get(key, "gpu", gpu) != NULL;
    (void)snprintf(buf, size, "%s%s%s", name[0] ? name : metric, on_gpu ? " on GPU " : "",
                   on_gpu ? gpu : "");
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

static bool is_same(const struct round_value *value, const char *metric, const char *key)
{
    return strcmp(value->metric, metric) == 0 && strcmp(value->key, key) == 0;
}

/* One metric at one key, over all rounds of a side. */
struct series {
    size_t n;
    double *values; /* scratch of the caller's, sorted */
    double median;
    struct stats_interval interval;
};

static int take_series(const struct analysis *const *runs, size_t nruns, const char *metric,
                       const char *key, struct series *series, struct err *err)
{
    size_t most = 1, n = 0;
    for (size_t i = 0; i < nruns; i++)
        most += runs[i]->values.n;
    *series = (struct series){.median = NAN, .interval = {NAN, NAN}};
    double *values = malloc(most * sizeof(*values));
    uint32_t *counts = malloc(most * sizeof(*counts));
    for (size_t i = 0; i < nruns && values; i++) {
        const struct round_value *end, *at = first_of(runs[i], &end);
        for (; at < end; at++)
            if (is_number(at) && is_same(at, metric, key))
                values[n++] = at->value;
    }
    if (values && counts) {
        series->n = stats_sort(values, n);
        series->median = stats_median(values, series->n);
        series->interval = stats_median_interval(values, series->n, 1, counts);
    }
    int rc = values && counts ? 0 : err_set(err, -ENOMEM, "no memory for canary rows");
    free(values);
    free(counts);
    return rc;
}

static int add_move(struct canary_moves *moves, const struct canary_move *move, struct err *err)
{
    struct canary_move *grown = array_grown(moves->all, moves->n, &moves->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for canary rows");
    moves->all = grown;
    grown[moves->n++] = *move;
    return 0;
}

static bool has_move(const struct canary_moves *moves, const struct round_value *value)
{
    for (size_t i = 0; i < moves->n; i++)
        if (is_same(value, moves->all[i].metric, moves->all[i].key))
            return true;
    return false;
}

struct sides {
    const struct analysis *const *base, *const *other;
    size_t nbase, nother;
};

static int compare_value(const struct sides *sides, const struct round_value *value,
                         struct canary_moves *moves, struct err *err)
{
    struct series base, other;
    int rc = take_series(sides->base, sides->nbase, value->metric, value->key, &base, err);
    if (!rc)
        rc = take_series(sides->other, sides->nother, value->metric, value->key, &other, err);
    if (rc || !other.n || !(base.median > 0) || !(other.median > 0))
        return rc;
    struct canary_move move = {.ratio = other.median / base.median,
                               .low = other.interval.low / base.interval.high,
                               .high = other.interval.high / base.interval.low};
    (void)snprintf(move.metric, sizeof(move.metric), "%s", value->metric);
    (void)snprintf(move.key, sizeof(move.key), "%s", value->key);
    (void)snprintf(move.unit, sizeof(move.unit), "%s", value->unit);
    return add_move(moves, &move, err);
}

int canary_compare(const struct analysis *const *base, size_t nbase,
                   const struct analysis *const *other, size_t nother, struct canary_moves *moves,
                   struct err *err)
{
    const struct sides sides = {base, other, nbase, nother};
    int rc = 0;
    *moves = (struct canary_moves){0};
    for (size_t i = 0; i < nbase && !rc; i++) {
        const struct round_value *end, *at = first_of(base[i], &end);
        for (; at < end && !rc; at++)
            if (is_number(at) && !has_move(moves, at))
                rc = compare_value(&sides, at, moves, err);
    }
    return rc;
}

void canary_moves_free(struct canary_moves *moves)
{
    free(moves->all);
    *moves = (struct canary_moves){0};
}

/* How far the nearer end of the interval is from 1, as a factor: 1 = it holds 1. */
static double distance(const struct canary_move *move)
{
    if (move->low > 1)
        return move->low;
    return move->high < 1 ? 1 / move->high : 1;
}

const struct canary_move *canary_largest(const struct canary_moves *moves)
{
    const struct canary_move *largest = NULL;
    for (size_t i = 0; i < moves->n; i++) {
        const struct canary_move *move = &moves->all[i];
        if (distance(move) > (largest ? distance(largest) : 1))
            largest = move;
    }
    return largest;
}

bool canary_is_beyond(const struct canary_move *move, double share)
{
    return distance(move) > 1 + share;
}

char *canary_say(const struct canary_move *move, char *buf, size_t size)
{
    char name[160];
    const struct word *word = word_of(move->metric);
    name_value(move->metric, move->key, name, sizeof(name));
    double percent = 100 * fabs(move->ratio - 1);
    int decimals = percent >= 0.95 ? 0 : percent >= 0.095 ? 1 : 2;
    (void)snprintf(buf, size, "%s: %.*f%% %s", name, decimals, fmax(percent, 0.01),
                   move->ratio > 1 ? word->more : word->less);
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
        for (; at < end && is_same(at, first->metric, first->key); at++) {
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
    struct series series;
    unsigned far = 0;
    const struct round_value *end, *at = first_of(analysis, &end);
    int rc = take_series(&analysis, 1, widest->metric, widest->key, &series, err);
    for (; at < end && !rc; at++)
        if (is_number(at) && is_same(at, widest->metric, widest->key))
            far += fmax(at->value / series.median, series.median / at->value) > 1 + CANARY_STEADY;
    buf[0] = '\0';
    if (!rc && far)
        (void)snprintf(buf, size, ", %u of %zu rounds", far, series.n);
    return rc;
}

int canary_find(const struct analysis *analysis, struct findings *findings, struct err *err)
{
    char name[160], which[64];
    const struct round_value *widest = NULL;
    double range = find_widest(analysis, &widest);
    if (!widest || range <= 1 + CANARY_STEADY)
        return 0;
    struct finding finding = {.id = "machine_moved", .subject = "the machine itself"};
    name_value(widest->metric, widest->key, name, sizeof(name));
    int rc = say_which(analysis, widest, which, sizeof(which), err);
    if (rc)
        return rc;
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "moved by %.0f%% from round to round (%s%s)", 100 * (range - 1), name, which);
    return findings_add(findings, &finding, err);
}
