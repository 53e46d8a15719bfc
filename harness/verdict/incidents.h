/* The outcome of incidents (engine/contract/scenario.h) on this machine. Pure. */
#ifndef CONTEND_VERDICT_INCIDENTS_H
#define CONTEND_VERDICT_INCIDENTS_H

#include "harness/engine/contract/scenario.h"
#include "harness/record/analysis.h"
#include "harness/verdict/comparison.h"

enum incident_end {
    INCIDENT_SHOWN,   /* the cure helps; or, for a harmful cure, the harm shows */
    INCIDENT_UNCLEAR, /* too noisy for a verdict */
    INCIDENT_NOT,     /* no difference, or one in the other direction */
    INCIDENT_SKIPPED, /* this machine cannot show it */
    INCIDENT_FAILED,
    INCIDENT_ENDS
};
/* "reproduced", "unclear", "not reproduced", "skipped", "failed". */
const char *incident_end_name(enum incident_end end);

/* What doctor found on the sick variant. Zeroed = doctor was not run. */
struct incident_doctor {
    bool was_run;
    bool found_expected; /* found an expected finding; if none is expected: advises nothing */
    char id[160];        /* of the findings, most costly first; "" = none */
    char evidence[300];  /* of the expected finding */
    char fix[400];       /* the settings or the command that were tried; "" = none */
    bool gain_is_proven;
    double gain, low, high; /* NaN = not measured */
    char reason[200];       /* why doctor was not run, or no fix was tried; or "" */
};

struct incident_outcome {
    const struct incident *incident;
    enum incident_end end;
    char reason[300]; /* "" for INCIDENT_SHOWN */
    char unit[32];
    double before, after;       /* medians of the incident's metric */
    double speed_up, low, high; /* of the cure; below 1 = slower; NaN = unknown */
    unsigned rounds;
    char witness_unit[32];
    double witness[2]; /* before and after the cure; NaN = unknown */
    struct incident_doctor doctor;
    double took_s;
};

/* Fills all but doctor and took_s from the comparisons and rows of the incident's variants. */
void incident_judge(const struct comparisons *comparisons, const struct rows *rows,
                    struct incident_outcome *outcome);

/* The number of outcomes with this end. */
size_t incidents_count(const struct incident_outcome *all, size_t n, enum incident_end end);

#endif
