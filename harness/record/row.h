/*
 * Rows: one summarised metric of one arm. The column schema of rows.csv is defined here, once.
 */
#ifndef CONTEND_RECORD_ROW_H
#define CONTEND_RECORD_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/result.h"
#include "harness/record/values.h"

/* In this order in rows.csv and as keys in `--json`. */
#define ROW_COLUMNS                                                                                \
    "run_id,scenario,placement,workers,role,bench,params,device,metric,unit,better,rounds,"        \
    "samples,median,ci_low,ci_high,p95,p99,min,max,status,reason"

enum { ROW_PARAMS_MAX = 512 };

struct row {
    char run_id[64];
    const char *scenario, *placement, *role, *bench, *device; /* borrowed */
    unsigned workers;
    unsigned planned_workers; /* not a column of its own: params carries it as slots=N */
    char params[ROW_PARAMS_MAX];
    struct dims dims;      /* position of the value; not a column: params ends with it, as a key */
    struct dims shown;     /* as tables and figures show it: `replaced` of struct bench_metric */
    const struct arm *arm; /* borrowed: the arm of the row; not a column */
    const char *metric;    /* borrowed */
    char unit[32];
    const char *better; /* "higher", "lower" or "none" */
    unsigned rounds;    /* that the interval is taken over */
    size_t samples;     /* of step_time: samples behind the percentiles; else equal to rounds */
    double median, ci_low, ci_high, p95, p99, min, max; /* NaN = empty cell */
    enum status status;
    char reason[256];
};

/* How the writers of CSV and JSON find a column's value in a row. */
enum row_kind { ROW_CHARS, ROW_TEXT, ROW_UNSIGNED, ROW_SIZE, ROW_DOUBLE, ROW_STATUS };

struct row_column {
    const char *name; /* NULL ends the table */
    enum row_kind kind;
    size_t offset; /* of char[], const char *, unsigned, size_t, double, enum status */
    size_t size;   /* of the field */
};

/* In the order of ROW_COLUMNS. */
extern const struct row_column row_columns[];

/* A ROW_CHARS, ROW_TEXT or ROW_STATUS column as text. */
const char *row_text(const struct row *row, const struct row_column *column);

struct rows {
    size_t n, capacity;
    struct row *row;
};

/*
 * All rows of a result, arm by arm, one per metric and key. Errors: -ENOMEM only.
 *
 * The median is over all rounds with a value, and its interval is stats_median_interval; it is
 * empty with one round. Losses report the round of the median loss, so that they add up. An arm
 * without a usable round is one row of VALUE_STATUS: skipped, failed or hung, with its reason. A
 * baseline has workers = 1 and planned workers = N. A baseline of a `gang` benchmark has all N
 * workers, and its params have background=none. A baseline that shares the measurement of an
 * earlier, identical plan repeats the values and says so. A row's status is the worst of its rounds
 * and of its baseline's rounds. Borrows from all arguments.
 */
int rows_make(const struct result *result, const struct rounds *rounds,
              const struct round_values *values, struct rows *rows, struct err *err);
/*
 * Appends a copy; fills `shown`. The row of a difference (struct bench_metric) whose interval over
 * the rounds, or whose only value, is not above 0 loses its numbers: it is skipped, as unresolved.
 */
int rows_append(struct rows *rows, const struct row *row, struct err *err);
void rows_free(struct rows *rows);

/* The arm's first row of the metric (scans have several), or NULL. Its median may be NaN. */
const struct row *rows_find(const struct rows *rows, const struct arm *arm, const char *metric);

/* The median of that row; NaN = there is none. `arm` may be NULL. */
double rows_median(const struct rows *rows, const struct arm *arm, const char *metric);

/* The next such row from index *at on that has a value; *at becomes the index after it. NULL = no
 * more. */
const struct row *rows_next(const struct rows *rows, const struct arm *arm, const char *metric,
                            size_t *at);

/* The arm's row of the metric at `dims` if it has a value, or NULL. */
const struct row *rows_at(const struct rows *rows, const struct arm *arm, const char *metric,
                          const struct dims *dims);

/* True for the row of a difference that is not resolved from 0. */
bool row_is_unresolved(const struct row *row);

/*
 * The benchmark's doubt about the row (bench_emit_doubt), without the disturbances of its arm; "" =
 * none. Also works for rows read from files.
 */
const char *row_doubt(const struct row *row, const struct arm_rounds *rounds);

/*
 * Whether a comparison of results may fail on the row: its metric is `gating`, its arm is neither a
 * baseline nor a control, and it passes `compare_filter`, which excludes tails and values under
 * load. Of a user's command with a metric, that metric alone.
 */
bool row_is_gating(const struct row *row);
/* The same for a metric at a position, of any arm. */
bool metric_is_gating(const struct bench *bench, const char *metric, const struct dims *at);

/*
 * The params column: the benchmark's parameters, then slots=N, then the load beside the arm:
 * background=NAME:WORKERS or dose=KIND:LEVEL, or none in the baselines of such a run. Then come
 * variant=NAME in an ab, and the key. A name appears once: a parameter that the key names is left
 * out, and, unless `other` is NULL, one whose value differs from that of this arm.
 */
void row_put_params(const struct result *result, const struct arm *arm, const struct arm *other,
                    const struct dims *at, char params[static ROW_PARAMS_MAX]);

/* The start of the key in a params column: the end of the text if it has no key. */
const char *row_key(const char *params);

/* "foreground", "baseline" or "canary". */
const char *row_role(const struct arm *arm);

/*
 * The largest share of a step that the hypervisor may have stolen, over all arms with steps. Stolen
 * time is part of the blocked time. 0: nothing was stolen, or stolen time is unknown.
 */
double rows_stolen_share(const struct result *result, const struct rows *rows);

/* The same for any metric that is a part of a step. */
double rows_largest_share(const struct result *result, const struct rows *rows, const char *metric);

/* Whether another arm of the benchmark has another value of this parameter. */
bool arm_option_differs(const struct result *result, const struct arm *arm, const struct opt *opt);

#endif
