/*
 * Rows: one summarised metric of one arm. The column schema of rows.csv is defined here, once.
 */
#ifndef CONTEND_ROWS_ROW_H
#define CONTEND_ROWS_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/arms/result.h"
#include "harness/rows/values.h"

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
    struct dims dims;      /* where its value stands; not a column: params ends in it, as a key */
    struct dims shown;     /* as tables and figures have it: `replaced` of struct bench_metric */
    const struct arm *arm; /* borrowed: whose row it is; not a column */
    const char *metric;    /* borrowed */
    char unit[32];
    const char *better; /* "higher", "lower" or "none" */
    unsigned rounds;    /* how many the interval is over */
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

/* Reads back the text of a column from row_text or the writers; a ROW_TEXT borrows `text`. */
void row_set(struct row *row, const struct row_column *column, const char *text);

struct rows {
    size_t n, capacity;
    struct row *row;
};

/*
 * All rows of a result, arm by arm, of each metric and key one. -ENOMEM only.
 *
 * The median is over the values of its rounds, the interval a 95% bootstrap over rounds, or their
 * range where they end when it is clear (empty with one round); of losses the median is that of the
 * round of the median loss, so that they add up. An arm without a usable round is one row of
 * VALUE_STATUS: skipped, failed or hung, with its reason. A baseline has workers = 1 and planned
 * workers = N (all N where the benchmark is `gang`; params then have background=none); one that
 * shares its measurement with an earlier, identical plan repeats the values and says so. A row's
 * status is the worst of the rounds it came from, those of its baseline included. Borrows from what
 * it is given.
 */
int rows_make(const struct result *result, const struct rounds *rounds,
              const struct round_values *values, struct rows *rows, struct err *err);
/* Appends a copy; fills `shown`. */
int rows_append(struct rows *rows, const struct row *row, struct err *err);
void rows_free(struct rows *rows);

/* The arm's row of the metric, of a scan the first one; or NULL. Its median may be NaN. */
const struct row *rows_find(const struct rows *rows, const struct arm *arm, const char *metric);

/* Its median; NaN = there is none. `arm` may be NULL. */
double rows_median(const struct rows *rows, const struct arm *arm, const char *metric);

/* The same at or behind *at, of those with a value; *at then points behind it. NULL = no more. */
const struct row *rows_next(const struct rows *rows, const struct arm *arm, const char *metric,
                            size_t *at);

/* The one that stands there, of those with a value; or NULL. */
const struct row *rows_at(const struct rows *rows, const struct arm *arm, const char *metric,
                          const struct dims *dims);

/*
 * The benchmark's doubt about the row (bench_emit_doubt), without the disturbances of its arm; "" =
 * none. Also for rows that were read back. Returns buf.
 */
char *row_doubt(const struct row *row, const struct arm_rounds *rounds, char *buf, size_t size);

/*
 * Whether a comparison of results may fail on it: what its benchmark is there to measure (`gating`
 * of the metric), of measured workers, without tails and values under load (`compare_filter`).
 */
bool row_is_gating(const struct row *row);
/* The same of a metric, whatever the arm. */
bool metric_is_gating(const struct bench *bench, const char *metric, const struct dims *at);

/*
 * The params column: the benchmark's parameters, then slots=N, then what makes load behind the arm:
 * background=NAME:WORKERS or dose=KIND:LEVEL, or none in the baselines of such a run, then
 * variant=NAME in an ab, then the key. A name stands once: where the key says which of several a
 * value is for, the parameter gives way.
 */
void row_put_params(const struct result *result, const struct arm *arm, const char *key,
                    char params[static ROW_PARAMS_MAX]);

/* Where the key of such a column begins: its end where it has none. */
const char *row_key(const char *params);
/* Whether "slots=2" stands in it, or in a key, as a whole; "" stands in any. */
bool row_params_have(const char *params, const char *part);

/* "foreground", "baseline" or "canary". */
const char *row_role(const struct arm *arm);

/*
 * The largest share of a step that the hypervisor may have stolen, of all arms with steps. It is
 * part of what counts as blocked. 0: none of it was, or nobody knows.
 */
double rows_stolen_share(const struct result *result, const struct rows *rows);

/* The same of any metric that is a part of a step. */
double rows_largest_share(const struct result *result, const struct rows *rows, const char *metric);

/* Whether another arm of the benchmark has another value of this parameter. */
bool arm_option_differs(const struct result *result, const struct arm *arm, const struct opt *opt);

#endif
