/*
 * Round values: the value of one metric of one arm, at one key, in one round. Everything reported
 * of a run is computed from them. rounds.csv holds them, so that it can be computed again. Pure.
 */
#ifndef CONTEND_RECORD_VALUES_H
#define CONTEND_RECORD_VALUES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/record/rounds.h"

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

#endif
