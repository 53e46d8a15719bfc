/*
 * One value a round: a value of one metric of one arm, at one key, in one round. All that is said
 * of a run is made from these, and rounds.csv holds them, so that it can be said again. Pure.
 */
#ifndef CONTEND_ROWS_VALUES_H
#define CONTEND_ROWS_VALUES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/rows/rounds.h"

/* In place of a round's number where no round has a value; `reason` says why. */
enum { VALUE_NO_ROUND = -1 };

/* The metric of rounds, and of arms, that have no value of any: only their status and reason. */
#define VALUE_STATUS "status"

/* Texts are borrowed: from tables, the observations, or what a reader holds. */
struct round_value {
    const char *metric, *unit, *better;
    struct dims dims; /* where it stands, as given to bench_emit */
    int round;
    double value;       /* NaN: none */
    enum status status; /* the worse of its round's and of its baseline's round */
    int base;           /* the arm that the status and reason are of; -1 = its own */
    const char *reason; /* why the status is not ok; may have several lines */
    const char *doubt;  /* what its benchmark says that it may not show, or NULL */
};

/* Arm by arm; of an arm metric by metric in the order of rows.csv, of a metric key by key. */
struct round_values {
    size_t n, capacity;
    struct round_value *value;
    size_t narms;
    size_t *first; /* owned, narms + 1: where the values of each arm begin */
    void *scratch; /* owned: of values_ratio */
    size_t most;   /* values of an arm, for which that has room */
};

/*
 * From every usable round of every arm, and one of VALUE_STATUS for each round that is not. A
 * metric that no round has but that should be there has a value of VALUE_NO_ROUND. Retention
 * (METHOD): loaded / idle of what is better higher, else idle / loaded, of the same round, so that
 * drift of the machine cancels. Borrows from all it is given. Free also after an error: -ENOMEM.
 */
int values_make(const struct result *result, const struct rounds *rounds,
                struct round_values *values, struct err *err);
void values_free(struct round_values *values);

/* Appends behind the others; then values_close_arm where the arm has no more. */
int values_append(struct round_values *values, const struct round_value *value, struct err *err);
/* The next arm's values follow. -ENOMEM only. */
int values_close_arm(struct round_values *values, struct err *err);

/* Why a value is not simply ok, in one line: of its own round, its baseline's, or shared. */
char *values_format_reason(const struct result *result, const struct rounds *rounds, size_t arm,
                           const struct round_value *value, char *buf, size_t size);

/* Whether they are of the same metric and key. */
bool values_alike(const struct round_value *a, const struct round_value *b);

/* How many values, from `at` on, are of the same metric and key; `end` is behind the last one. */
size_t values_group(const struct round_values *values, size_t at, size_t end);

/*
 * What two arms gave, paired by round: fast / slow of the metric and key of `what`, whose other
 * fields do not count; VALUE_RATE is throughput. A round in which either was disturbed
 * counts only where all of them were. The interval is that of the median, resampled from `seed`;
 * without one the range.
 */
struct paired_ratio {
    size_t rounds;            /* that both have */
    double median, low, high; /* NaN without rounds; the interval is NaN with one round */
    bool disturbed;           /* all of them were: not usable as evidence */
    /* Of a run that ends when it is clear and has enough rounds, low and high are their range, and
     * the sequential test says whether the ratio is above 1, and below 1 + result_within. */
    bool is_sequential, is_above, is_within;
};
struct paired_ratio values_ratio(const struct round_values *values, const struct round_value *what,
                                 size_t slow, size_t fast, const uint64_t *seed);

#define VALUE_RATE (&(const struct round_value){.metric = METRIC_RATE})
/* A ratio without rounds. */
#define PAIRED_NONE ((struct paired_ratio){.median = NAN, .low = NAN, .high = NAN})

/* What two arms gave in a round that both have. */
struct value_pair {
    unsigned round;
    double slow, fast; /* above 0 */
};
/* Those that values_ratio counts, into pairs[], which has room for all rounds of `slow`. Returns
 * how many. */
size_t values_pair(const struct round_values *values, const struct round_value *what, size_t slow,
                   size_t fast, bool *disturbed, struct value_pair *pairs);

#endif
