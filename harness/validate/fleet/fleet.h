/*
 * The results of many machines in memory, as small as they can be: of each run the figures that
 * count, with their names as numbers. Who reads them is validate/files/fleet_read.h; bounds.h makes
 * bounds of them, and judge.h says which machines are odd. Pure.
 *
 *   struct fleet fleet = {0};
 *   rc = fleet_add_run(&fleet, &origin, &run, &err);
 *   rc = fleet_add_value(&fleet, run, key, &figure, &err);      again and again
 *   rc = fleet_arrange(&fleet, &err);                           once, behind the last of them
 */
#ifndef CONTEND_VALIDATE_FLEET_FLEET_H
#define CONTEND_VALIDATE_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/lib/base/intern.h"

/* The columns of rows.csv that tell figures apart, in this order in a key. */
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
 * Joins the columns to a key. Returns its length, or 0: it would be too long, or a column has the
 * control character that stands between them.
 */
size_t fleet_key_join(const char *const columns[FLEET_COLUMNS], char key[static FLEET_KEY_MAX]);

/* A column of a key; returns buf. */
char *fleet_key_column(const char *key, enum fleet_column column, char *buf, size_t size);

/*
 * The key without the parameters that are at their default in this version: results and bounds of
 * another version, which lacks them, are of the same figure. NULL: of no benchmark. Returns its
 * length.
 */
size_t fleet_key_plain(const struct bench *const *benches, const char *key,
                       char plain[static FLEET_KEY_MAX]);

/* For people: "copy_bandwidth, gpu=3;dir=h2d, gpu, partition". Returns buf. */
char *fleet_key_format(const char *key, char *buf, size_t size);

struct fleet_figure {
    const char *unit; /* borrowed */
    bool higher;      /* more is better, else less is */
    bool noisy;       /* the machine was disturbed while it was measured */
    double value;     /* within FLT_MAX */
};

/*
 * A figure of a machine: the median of its newest runs that have it, so many at most. What became
 * worse lately is then not outweighed by how it was before.
 */
enum { FLEET_NEWEST = 3 };
struct fleet_cell {
    uint32_t machine;
    uint32_t nvalues; /* of all runs */
    size_t first;     /* of them in fleet.values, in the order of time */
    double value;
    bool noisy; /* half or more of the newest were */
};

/* Zeroed = empty. */
struct fleet {
    const struct bench *const
        *benches;                     /* borrowed; that count, and whose defaults may be lacking */
    struct intern keys, names, kinds; /* keys: plain ones */
    struct intern spelled;            /* keys as results have them */
    uint32_t *metric_of;              /* owned: of these */
    size_t metric_of_capacity;
    struct intern results; /* what was added already, as its reader names it */
    struct fleet_metric {
        char unit[FLEET_UNIT_MAX];
        bool higher;
        uint32_t spelled;  /* its first key, with all parameters */
        uint32_t last_run; /* that has it, and one: to notice two in a run */
    } * metrics;           /* owned, as all arrays here; one a key */
    size_t metrics_capacity;

    struct fleet_machine {
        uint32_t kind;      /* of its newest run */
        uint64_t newest;    /* when that began */
        char identity[20];  /* "" = unknown */
        uint64_t validated; /* when its newest validation began */
        char verdict[96];   /* what that said, where the machine did not pass; or "" */
        bool inconclusive;  /* and that is SKIP: nothing of what it is for was judged */
    } * machines;           /* one a name */
    size_t machines_capacity;

    struct intern arms, texts; /* arms of machines */
    struct fleet_trouble {
        uint32_t text;
        bool failed; /* else it was skipped */
    } * troubles;    /* why the figures of an arm are missing; one an arm */
    size_t troubles_capacity;

    struct fleet_run {
        uint32_t machine;
        uint64_t started; /* larger is later */
    } * runs;
    size_t nruns, runs_capacity;

    struct fleet_value {
        uint32_t metric, run;
        float value;
        bool noisy;
    } * values; /* from fleet_arrange on by metric, machine and time */
    size_t nvalues, values_capacity;

    /* From fleet_arrange on. */
    struct fleet_cell *cells; /* by metric and machine */
    size_t ncells;
    size_t *first; /* of the cells of a metric; keys.n + 1 entries */
};

/* Where a run was. Borrowed. */
struct fleet_origin {
    const char *name;     /* of the machine */
    const char *identity; /* tells machines of one name apart; "" = unknown */
    const char *kind;     /* for people, and equal of equal machines */
    uint64_t started;     /* any number that is larger for a later run */
};

/* Another machine of a name that is taken is called "NAME (IDENTITY)". -ENOMEM only. */
int fleet_add_run(struct fleet *fleet, const struct fleet_origin *origin, uint32_t *run,
                  struct err *err);

/*
 * Why figures of an arm are missing, by its columns; the placement, say, that this machine cannot
 * express tells nothing of the others. Columns "" = of all arms of the machine. What failed counts
 * before what was skipped, and the first of either. -ENOMEM only.
 */
int fleet_add_trouble(struct fleet *fleet, uint32_t run, const char *const columns[FLEET_COLUMNS],
                      bool failed, const char *text, struct err *err);

/* Why the machine lacks the figure of that key: of its arm, else of all its runs; or "". */
const char *fleet_trouble_of(const struct fleet *fleet, uint32_t machine, const char *key);

/*
 * Of a run that is a validation: what it said where the machine did not pass, or "", and whether
 * that is SKIP. The newest of a machine counts.
 */
void fleet_add_verdict(struct fleet *fleet, uint32_t run, const char *text, bool inconclusive);

/*
 * Errors: -EEXIST the run has that figure already, -EINVAL another run has it in another unit or
 * with another direction, or its value is too large or its
 * unit too long, -ENOMEM. All of a run come before those of the
 * next one.
 */
int fleet_add_value(struct fleet *fleet, uint32_t run, const char *key, size_t key_length,
                    const struct fleet_figure *figure, struct err *err);

/* Puts all in order and makes the cells: -ENOMEM only. Nothing is added from then on. */
int fleet_arrange(struct fleet *fleet, struct err *err);

void fleet_free(struct fleet *fleet);

/* The machine's value of a figure, or NULL. */
const struct fleet_cell *fleet_find(const struct fleet *fleet, uint32_t metric, uint32_t machine);

/* How many machines are of that kind, a number of fleet.kinds. */
size_t fleet_count_kind(const struct fleet *fleet, uint32_t kind);

#endif
