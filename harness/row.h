/*
 * Rows: one summarised metric of one arm. The column schema of rows.csv is defined here, once.
 */
#ifndef CONTEND_ROW_H
#define CONTEND_ROW_H

#include <stddef.h>

#include "harness/result.h"

/* In this order in rows.csv and as keys in `--json`. */
#define ROW_COLUMNS                                                                                \
    "run_id,scenario,placement,workers,bench,params,device,metric,unit,better,rounds,samples,"     \
    "median,ci_low,ci_high,p95,p99,min,max,status,reason"

struct row {
    char run_id[64];
    const char *scenario, *placement, *bench, *device; /* borrowed from static tables */
    unsigned workers;
    unsigned slots; /* not a column of its own: params carries it as slots=N */
    char params[512];
    const char *metric, *unit;
    const char *better; /* "higher", "lower" or "none" */
    unsigned rounds;
    size_t samples;
    double median, ci_low, ci_high, p95, p99, min, max; /* NaN = empty cell */
    enum status status;
    char reason[256];
};

struct rows {
    size_t n, capacity;
    struct row *row;
};

/*
 * All rows of a result, arm by arm, metrics in a fixed order. A skipped arm is one row with status
 * skipped and its reason. -ENOMEM only.
 */
int rows_make(const struct result *result, struct rows *rows, struct err *err);
void rows_free(struct rows *rows);

/* The row of (placement, workers, slots, metric), or NULL. */
const struct row *rows_find(const struct rows *rows, const char *placement, unsigned workers,
                            unsigned slots, const char *metric);

#endif
