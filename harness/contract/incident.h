/*
 * Published reports of contention as data: what was reported, how this machine reproduces it, its
 * cure, and what `contend doctor` is expected to say of it.
 *
 * An incident is a scenario whose variants are fixed: `contend ab NAME` measures it, and `contend
 * run incident NAME` lets doctor look at it while it is sick. In texts {cpus} is the number of CPUs
 * that this process may use, {2cpus} twice as many, {quarter} a quarter of them, which may be half
 * a CPU, {quarter+} the same as threads, at least 1.
 */
#ifndef CONTEND_CONTRACT_INCIDENT_H
#define CONTEND_CONTRACT_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/scenario.h"

enum { INCIDENT_VARIANTS = 8 };

/* The words and figures of the source; its symptom is the summary of the scenario. */
struct incident_report {
    const char *title, *url, *date;
    const char *machine; /* hardware and software, as far as the source says */
    const char *what;    /* unit or quantity of both figures, "tokens/s"; NULL = it has none */
    double sick, cured;  /* 0 = not reported */
    bool less_is_better;
    const char *figures; /* in place of these, where they are no pair on one machine */
};

struct incident {
    struct scenario scenario;
    struct incident_report reported;
    const char *differs; /* between the report and this reproduction; a sentence */
    const char *cure;    /* in words, "as many threads as CPUs" */
    /* As -V takes them: the sick one first, then the cured one, then others; ends with NULL. */
    const char *variants[INCIDENT_VARIANTS];
    const char *metric;  /* that the ratio is of */
    double time_s;       /* of an observation; 0 = as ab has it */
    double max_time_s;   /* of the comparison; 0 = as the command says */
    bool on_gpu;         /* where there is one, with thrice the time; else it is simulated */
    const char *witness; /* a metric that shows why, sick and cured; NULL = none */
    /* Ids of findings, "a|b"; NULL = no check can see it; "" = doctor must advise nothing. */
    const char *doctor;
    bool harms;           /* the cure is one that slows: the second variant is to be slower */
    unsigned least_nodes; /* NUMA nodes that it needs */
    const char *cannot;   /* why no machine reproduces it by itself; NULL = it can */
};

/* NULL where the table, which ends with NULL, or is NULL, has no such name. */
const struct incident *incident_find(const struct incident *const *incidents, const char *name);

/* Why a machine of so many NUMA nodes cannot show it; "" = it can, as far as that goes. Returns
 * buf.
 */
char *incident_not_here(const struct incident *incident, unsigned nodes, char *buf, size_t size);

/* How many of its variants, the first ones, are changes of the sick one: the next is the cured one.
 */
size_t incident_changes(const struct incident *incident);

/* Its speed-up as reported; NaN = the report has no pair of figures. */
double incident_reported(const struct incident *incident);

/* Replaces the placeholders; returns buf. */
char *incident_expand(const char *text, unsigned cpus, char *buf, size_t size);

#endif
