/*
 * The results of many machines in compact form: for each run the figures that count, with numbers
 * for names. validate/fleet_read.h reads them; bounds.h makes bounds from them, and judge.h
 * finds odd machines. Pure.
 *
 *   struct fleet fleet = {0};
 *   rc = fleet_add_run(&fleet, &origin, &run, &err);
 *   rc = fleet_add_value(&fleet, run, key, &figure, &err);      for each figure
 *   rc = fleet_arrange(&fleet, &err);                           once, after the last figure
 */
#ifndef CONTEND_VALIDATE_FLEET_H
#define CONTEND_VALIDATE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "harness/lib/err.h"

/*
 * Maps strings to numbers: equal strings get the same number, counted from 0 in order of insertion.
 * For tables of millions of lines with some thousand distinct names. Pure, but allocates.
 */

/* The number of an unknown string. */
#define INTERN_NONE UINT32_MAX

/* Zeroed = empty. */
struct intern {
    uint32_t n;
    struct intern_entry *entries; /* owned, as the next two */
    char *text;                   /* all strings, each NUL-terminated */
    uint32_t *slots;              /* hash slots (open addressing), nslots: number + 1, 0 = free */
    size_t capacity, used, text_capacity, nslots;
};

/* Adds the string if unknown, and stores its number. It need not end with NUL. Error: -ENOMEM. */
int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *number,
               struct err *err);

/* The string's number; INTERN_NONE: unknown. */
uint32_t intern_find(const struct intern *intern, const char *text, size_t length);

/* The string of that number. Valid until the next intern_add. */
const char *intern_text(const struct intern *intern, uint32_t number);

void intern_free(struct intern *intern);

/* The columns of rows.csv that identify a figure, in the order of a key. */
enum fleet_column {
    FLEET_SCENARIO,
    FLEET_PLACEMENT,
    FLEET_WORKERS,
    FLEET_ROLE,
    FLEET_BENCH,
    FLEET_PARAMS,
    FLEET_DEVICE,
    FLEET_METRIC,
    FLEET_COLUMNS
};
extern const char *const fleet_columns[FLEET_COLUMNS]; /* "scenario" ... */

enum { FLEET_KEY_MAX = 1024, FLEET_UNIT_MAX = 32 };

/*
 * Joins the columns to a key. Returns its length; 0: the key would be too long, or a column
 * contains the control character that separates columns.
 */
size_t fleet_key_join(const char *const columns[FLEET_COLUMNS], char key[static FLEET_KEY_MAX]);

/* Copies a column of a key. */
const char *fleet_key_column(const char *key, enum fleet_column column);

/*
 * The key without parameters that have their default in this version, so that results and bounds of
 * a version without these parameters match. An unknown benchmark, or `benches` NULL, leaves the key
 * as it is. Returns the length.
 */
size_t fleet_key_plain(const struct bench *const *benches, const char *key,
                       char plain[static FLEET_KEY_MAX]);

/* For messages: "copy_bandwidth of gpu_copy, gpu=3, dir=h2d". */
const char *fleet_key_format(const char *key);

struct fleet_figure {
    const char *unit; /* borrowed */
    bool higher;      /* more is better, else less */
    bool noisy;       /* the machine was disturbed during the measurement */
    double value;     /* within FLT_MAX */
};

/*
 * A figure of a machine: the median of at most FLEET_NEWEST runs, the newest that have it. So older
 * runs do not hide that a machine became worse.
 */
enum { FLEET_NEWEST = 3 };
struct fleet_cell {
    uint32_t machine;
    uint32_t nvalues; /* of all runs */
    size_t first;     /* of these values in fleet.values, in order of time */
    double value;
    bool noisy; /* half or more of the newest values are */
};

/* Zeroed = empty. */
struct fleet {
    const struct bench *const *benches; /* borrowed; benchmarks that count, and their defaults */
    struct intern keys, names, kinds;   /* keys: those of fleet_key_plain */
    struct intern raw_keys;             /* keys as in the results */
    uint32_t *metric_of;                /* owned: the number in `keys` of each raw key */
    size_t metric_of_capacity;
    struct intern results; /* results added so far, as named by their reader */
    struct fleet_metric {
        char unit[FLEET_UNIT_MAX];
        bool higher;
        uint32_t raw_key;  /* first key of the figure, with all parameters */
        uint32_t last_run; /* 1 + the last run with the figure, to detect a second value */
    } * metrics;           /* owned, as all arrays here; one per key */
    size_t metrics_capacity;

    struct fleet_machine {
        uint32_t kind;      /* of its newest run */
        uint64_t newest;    /* start of that run */
        char identity[20];  /* "" = unknown */
        uint64_t validated; /* start of its newest validation */
        char verdict[96];   /* text of that validation if the machine did not pass, or "" */
        bool inconclusive;  /* the validation is SKIP: nothing relevant was judged */
    } * machines;           /* one per name */
    size_t machines_capacity;

    struct intern arms, texts; /* arms of machines */
    struct fleet_missing_reason {
        uint32_t text;
        bool failed;     /* else it was skipped */
    } * missing_reasons; /* why an arm's figures are missing; one per arm */
    size_t missing_reasons_capacity;

    struct fleet_run {
        uint32_t machine;
        uint64_t started; /* larger is later */
    } * runs;
    size_t nruns, runs_capacity;

    struct fleet_value {
        uint32_t metric, run;
        float value;
        bool noisy;
    } * values; /* after fleet_arrange sorted by metric, machine and time */
    size_t nvalues, values_capacity;

    /* Valid after fleet_arrange. */
    struct fleet_cell *cells; /* sorted by metric and machine */
    size_t ncells;
    size_t *first; /* first cell of each metric; keys.n + 1 entries */
};

/* The origin of a run. Borrowed. */
struct fleet_origin {
    const char *name;     /* of the machine */
    const char *identity; /* distinguishes machines of one name; "" = unknown */
    const char *kind;     /* readable; equal for equal machines */
    uint64_t started;     /* larger for a later run */
};

/* Adds a run. A second machine with a name in use is called "NAME (IDENTITY)". -ENOMEM only. */
int fleet_add_run(struct fleet *fleet, const struct fleet_origin *origin, uint32_t *run,
                  struct err *err);

/*
 * Records why figures of an arm are missing. The arm is the scenario, placement and benchmark in
 * `columns`, because a reason, such as a placement that the machine cannot express, may hold for
 * that arm only; "" in all columns: all arms of the machine. Failures count before skips, else the
 * first reason. -ENOMEM only.
 */
int fleet_add_missing_reason(struct fleet *fleet, uint32_t run,
                             const char *const columns[FLEET_COLUMNS], bool failed,
                             const char *text, struct err *err);

/* Why the machine lacks that figure: the reason of its arm, else of all arms; or "". */
const char *fleet_missing_reason_of(const struct fleet *fleet, uint32_t machine, const char *key);

/*
 * Records the verdict of a run that is a validation: its text if the machine did not pass, or "",
 * and whether it is SKIP. Only the newest validation of a machine counts.
 */
void fleet_add_verdict(struct fleet *fleet, uint32_t run, const char *text, bool inconclusive);

/*
 * Adds a figure of a run. Add all figures of a run before the next run's. Errors: -EEXIST the run
 * has that figure already; -EINVAL the unit or direction differs from another run's, the value is
 * too large, or the unit too long; -ENOMEM.
 */
int fleet_add_value(struct fleet *fleet, uint32_t run, const char *key, size_t key_length,
                    const struct fleet_figure *figure, struct err *err);

/* Sorts everything and makes the cells. Nothing may be added afterwards. -ENOMEM only. */
int fleet_arrange(struct fleet *fleet, struct err *err);

void fleet_free(struct fleet *fleet);

/* The machine's value of a figure, or NULL. */
const struct fleet_cell *fleet_find(const struct fleet *fleet, uint32_t metric, uint32_t machine);

/* The number of machines of that kind, which is a number of fleet.kinds. */
size_t fleet_count_kind(const struct fleet *fleet, uint32_t kind);

#endif
