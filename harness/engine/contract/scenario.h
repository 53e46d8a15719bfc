/* A scenario is data: foreground and background benchmarks, placements and defaults. */
#ifndef CONTEND_ENGINE_CONTRACT_SCENARIO_H
#define CONTEND_ENGINE_CONTRACT_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

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
    double quick_s;                    /* of a quick run, figures apart; 0 = the profile's time */
    const char *doses; /* list of doses (dose.h) that `run` measures it under; 'all' does not; or
                          NULL */
};

/* True if an earlier part has the same benchmark, with other parameters. */
bool scenario_repeats(const struct scenario *scenario, const struct scenario_part *part);

/* NULL: unknown name. */
const struct scenario *scenario_find(const struct scenario *scenarios, const char *name);

/*
 * Published reports of contention as data: the report, how this machine reproduces it, the cure,
 * and what `contend doctor` should say.
 *
 * An incident is a scenario whose variants are fixed. `contend ab NAME` measures it, and `contend
 * run incident NAME` lets doctor examine the sick (uncured) variant while it runs. In texts {cpus}
 * is the number of CPUs that this process may use, {2cpus} twice that, {quarter} a quarter of it
 * (may be fractional), {quarter+} the same as a number of threads, at least 1.
 */
enum { INCIDENT_VARIANTS = 8 };

/* Words and figures of the source. The scenario's summary is the symptom. */
struct incident_report {
    const char *title, *url, *date;
    const char *machine;  /* hardware and software, if the source says */
    const char *what;     /* unit or quantity of both figures, "tokens/s"; NULL = no figures */
    double before, after; /* the figure before and after the cure; 0 = not reported */
    bool less_is_better;
    const char *figures; /* replaces both figures if they are not from one machine */
};

struct incident {
    struct scenario scenario;
    struct incident_report reported;
    const char *differs; /* how this reproduction differs from the report; a sentence */
    const char *cure;    /* in words, "as many threads as CPUs" */
    /* Arguments of -V: the sick variant, then the cured one, then more; ends with NULL. */
    const char *variants[INCIDENT_VARIANTS];
    const char *metric;  /* compared between sick and cured */
    double time_s;       /* time of one measurement; 0 = ab's default for incidents */
    double max_time_s;   /* least time limit of the comparison; 0 = that of the command */
    bool on_gpu;         /* uses a GPU if any, with 3 times the time limit; else device sim */
    const char *witness; /* a metric that shows the cause, sick and cured; NULL = none */
    /* Findings that doctor should report, "a|b"; NULL = no check sees it; "" = no advice at all. */
    const char *doctor;
    bool no_speed;        /* its benchmark counts no progress: no fix of doctor is tried */
    bool harms;           /* the "cure" is harmful: the second variant should be slower */
    unsigned least_nodes; /* NUMA nodes that it needs */
    const char *cannot;   /* why no single machine reproduces it; NULL = a machine can */
};

/* `incidents` ends with NULL, or is NULL. NULL: unknown name. */
const struct incident *incident_find(const struct incident *const *incidents, const char *name);

/* Why a machine with `nodes` NUMA nodes cannot reproduce it; "" = no known reason. */
const char *incident_not_here(const struct incident *incident, unsigned nodes);

/* Number of leading `variants` that together are the sick one; the cured one begins after them. */
size_t incident_changes(const struct incident *incident);

/* The reported speed-up; NaN = the report has no pair of figures. */
double incident_reported(const struct incident *incident);

/* Replaces the placeholders; returns buf. */
char *incident_expand(const char *text, unsigned cpus, char *buf, size_t size);

#endif
