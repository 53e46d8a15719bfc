/*
 * Round values: the value of one metric of one arm, at one key, in one round. Everything reported
 * of a run is computed from them. rounds.csv holds them, so that it can be computed again. Pure.
 */
#ifndef CONTEND_ROWS_VALUES_H
#define CONTEND_ROWS_VALUES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/rows/rounds.h"

/* Replaces the round number if no round has a value; `reason` says why. */
enum { VALUE_NO_ROUND = -1 };

/* The metric of a round, or of an arm, without any value: only its status and reason count. */
#define VALUE_STATUS "status"

/* Texts are borrowed from tables, from observations, or from the reader of a result. */
struct round_value {
    const char *metric, *unit, *better;
    struct dims dims; /* position, as given to bench_emit */
    int round;
    double value;       /* NaN: none */
    enum status status; /* the worse of its own round and its baseline's round */
    int base;           /* the arm that status and reason come from; -1 = its own */
    const char *reason; /* why the status is not ok; may have several lines */
    const char *doubt;  /* of the benchmark (bench_emit_doubt), or NULL */
    size_t arm, place;  /* set by values_append and values_sort */
};

/* Ordered by arm, within an arm by metric as in rows.csv, within a metric by key. */
struct round_values {
    size_t n, capacity;
    struct round_value *value;
    size_t narms;
    size_t *first; /* owned, narms + 1: where the values of each arm begin */
    void *scratch; /* owned: working memory of values_ratio */
    size_t most;   /* values of an arm that scratch has room for */
};

/*
 * Makes the values of every usable round of every arm, and one of VALUE_STATUS for each unusable
 * round. A metric that should be there but that no round has gets a value of VALUE_NO_ROUND.
 * Retention (METHOD) is loaded / idle if higher is better, else idle / loaded. Both are of the same
 * round, so that drift of the machine cancels. Borrows from all arguments. Errors: -ENOMEM. Free
 * also after an error.
 */
int values_make(const struct result *result, const struct rounds *rounds,
                struct round_values *values, struct err *err);
void values_free(struct round_values *values);

/* Appends a value of an arm. Call values_sort after the last. Errors: -ENOMEM only. */
int values_append(struct round_values *values, size_t arm, const struct round_value *value,
                  struct err *err);
/* Orders values that were appended in any order. One without a round is dropped if its metric and
 * key have another. -EINVAL: they contradict each other. */
int values_sort(struct round_values *values, size_t narms, struct err *err);

/* Why a value is not simply ok, in one line: shared measurement, doubt, or the reason of its round
 * or of its baseline. Returns buf. */
char *values_format_reason(const struct result *result, const struct rounds *rounds, size_t arm,
                           const struct round_value *value, char *buf, size_t size);

/* Whether both are of the same metric and key. */
bool values_alike(const struct round_value *a, const struct round_value *b);

/* How many values from index `at` on are of the same metric and key; `end` is exclusive. */
size_t values_group(const struct round_values *values, size_t at, size_t end);

/*
 * The ratio fast / slow of two arms, paired by round, for the metric and key of `what`; its other
 * fields do not count. VALUE_RATE is throughput. Every round that both have counts, as every table,
 * figure and row does: load that strikes either arm at random cancels in the median. The interval
 * is stats_median_interval.
 */
struct paired_ratio {
    size_t rounds;            /* that both arms have */
    size_t disturbed;         /* of these, rounds in which either arm was disturbed */
    size_t one_sided;         /* of these, rounds in which only `slow` was: they favour `fast` */
    size_t at_least;          /* rounds whose ratio is at or above `low` */
    double foreign, steal;    /* shares of the CPUs that others and the hypervisor took from the
                                 more disturbed arm, medians over its rounds; 0 = unknown */
    double median, low, high; /* NaN without rounds; the interval is NaN with one round */
    /* With `until_clear`, or disturbed, a sequential test says from SEQUENTIAL_LEAST rounds on if
     * the ratio is above 1, and below 1 + result_within. */
    bool is_sequential, is_above, is_within;
};
struct paired_ratio values_ratio(const struct round_values *values, const struct round_value *what,
                                 size_t slow, size_t fast);

/* True if most rounds were disturbed: the ratio holds beside such load, which its text must say. */
bool ratio_is_disturbed(const struct paired_ratio *ratio);

#define VALUE_RATE (&(const struct round_value){.metric = METRIC_RATE})
/* A ratio without rounds. */
#define PAIRED_NONE ((struct paired_ratio){.median = NAN, .low = NAN, .high = NAN})

/* The values of two arms in a round that both have. */
struct value_pair {
    unsigned round;
    double slow, fast; /* above 0 */
    bool slow_disturbed, fast_disturbed;
};
/* Writes the pairs that values_ratio counts to pairs[], which needs room for all rounds of `slow`.
 * Returns their number. */
size_t values_pair(const struct round_values *values, const struct round_value *what, size_t slow,
                   size_t fast, struct value_pair *pairs);

#endif
