/* A scenario is data: which benchmark runs in front, which behind, where, and with what defaults.
 */
#ifndef CONTEND_CONTRACT_SCENARIO_H
#define CONTEND_CONTRACT_SCENARIO_H

#include <stdbool.h>

enum { SCENARIO_PARTS_MAX = 16 };

/* One benchmark in front, with one set of parameters. */
struct scenario_part {
    const char *foreground; /* name of the measured benchmark; NULL ends a list of parts */
    const char *params;     /* "k=v;k=v" over the benchmark's own defaults, or NULL */
    const char *placements; /* list; those the machine cannot express or has too few CPUs for
                               become skipped arms */
    unsigned workers;       /* 0 = as the user says: one a GPU, at least 2 */
};

struct scenario {
    const char *name;                  /* [a-z_]+; NULL ends a table */
    const char *summary;               /* one line for `contend info` */
    const struct scenario_part *parts; /* all of them in every round, in random order */
    const char *background;            /* benchmark that only makes load behind them, or NULL */
    unsigned background_workers;       /* 0 = as many as in front */
    const char *doses; /* of contention, a list (dose.h) that `run` measures it under, and 'all'
                          leaves out; or NULL */
};

/* The benchmark of `part` stands in an earlier part, too: with other parameters. */
bool scenario_repeats(const struct scenario *scenario, const struct scenario_part *part);

/* NULL where the table has no such name. */
const struct scenario *scenario_find(const struct scenario *scenarios, const char *name);

#endif
