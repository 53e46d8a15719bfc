/* What came of incidents (contract/incident.h) on this machine. Pure. */
#ifndef CONTEND_VERDICT_ODD_INCIDENTS_H
#define CONTEND_VERDICT_ODD_INCIDENTS_H

#include "harness/contract/incident.h"
#include "harness/rows/analysis.h"
#include "harness/verdict/pairs/comparison.h"

enum incident_end {
    INCIDENT_SHOWN,   /* sick, and the cure cures; or the harm shows */
    INCIDENT_UNCLEAR, /* too noisy for a verdict */
    INCIDENT_NOT,     /* no difference, or one in the other direction */
    INCIDENT_SKIPPED, /* this machine cannot show it */
    INCIDENT_FAILED,
    INCIDENT_ENDS
};
/* "reproduced", "unclear", "not reproduced", "skipped", "failed". */
const char *incident_end_name(enum incident_end end);

/* doctor beside the sick one. Zeroed = nobody looked. */
struct incident_doctor {
    bool looked;
    bool named;             /* by one of the expected findings; where none is expected: silent */
    char id[160];           /* of what it found, most costly first; "" = nothing */
    char evidence[300];     /* of the expected one */
    char fix[400];          /* the settings or the command that were tried; "" = none */
    bool cured;             /* the gain is proven */
    double gain, low, high; /* NaN = not measured */
    char reason[200];       /* why it did not look, or tried nothing; or "" */
};

struct incident_outcome {
    const struct incident *incident;
    enum incident_end end;
    char reason[300]; /* of all but INCIDENT_SHOWN */
    char unit[32];
    double sick, cured;         /* medians of its metric */
    double speed_up, low, high; /* by the cure; below 1 it slows; NaN = unknown */
    unsigned rounds;
    char witness_unit[32];
    double witness[2]; /* sick and cured; NaN = unknown */
    struct incident_doctor doctor;
    double took_s;
};

/* Fills all but doctor and took_s from a result of its variants. */
void incident_judge(const struct comparisons *comparisons, const struct rows *rows,
                    struct incident_outcome *outcome);

/* How many ended so. */
size_t incidents_count(const struct incident_outcome *all, size_t n, enum incident_end end);

#endif
