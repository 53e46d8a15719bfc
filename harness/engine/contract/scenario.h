/* A scenario is data: foreground and background benchmarks, placements and defaults. */
#ifndef CONTEND_ENGINE_CONTRACT_SCENARIO_H
#define CONTEND_ENGINE_CONTRACT_SCENARIO_H

#include <stdbool.h>

enum { SCENARIO_PARTS_MAX = 16 };

/* One foreground benchmark, with one set of parameters. */
struct scenario_part {
    const char *foreground; /* name of the measured benchmark; NULL ends a list of parts */
    const char *params;     /* "k=v;k=v" over the benchmark's own defaults, or NULL */
    const char *placements; /* list; placements that this machine does not support, or has too few
                               CPUs for, become skipped arms */
    unsigned workers;       /* 0 = the user's option; its default is one per GPU, at least 2 */
};

struct scenario {
    const char *name;                  /* [a-z_]+; NULL ends a table */
    const char *summary;               /* one line for `contend info` */
    const struct scenario_part *parts; /* every round measures all of them, in random order */
    const char *background;            /* benchmark that only makes load, or NULL */
    unsigned background_workers;       /* 0 = as many as in the foreground */
    const char *doses; /* list of doses (dose.h) that `run` measures it under; 'all' does not; or
                          NULL */
};

/* True if an earlier part has the same benchmark, with other parameters. */
bool scenario_repeats(const struct scenario *scenario, const struct scenario_part *part);

/* NULL: unknown name. */
const struct scenario *scenario_find(const struct scenario *scenarios, const char *name);

#endif
