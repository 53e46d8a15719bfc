/* A scenario is data: which benchmark runs in front, which behind, where, and with what defaults.
 */
#ifndef CONTEND_CORE_SCENARIO_H
#define CONTEND_CORE_SCENARIO_H

struct scenario {
    const char *name;       /* [a-z_]+; NULL ends a table */
    const char *summary;    /* one line for `contend list` */
    const char *foreground; /* name of the measured benchmark */
    const char *background; /* name of the one that only makes load, or NULL */
    const char *placements; /* list; those the machine cannot express become skipped arms */
    const char *optional;   /* list; added only where the machine can express them */
    const char *params;     /* "k=v;k=v" over the benchmark's own defaults, or NULL */
    unsigned background_workers;
};

/* NULL where the table has no such name. */
const struct scenario *scenario_find(const struct scenario *scenarios, const char *name);

#endif
