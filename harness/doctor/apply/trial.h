/* The gain of a cure that was tried: for those who print it. */
#ifndef CONTEND_DOCTOR_APPLY_TRIAL_H
#define CONTEND_DOCTOR_APPLY_TRIAL_H

#include "harness/doctor/apply/beside.h"
#include "harness/doctor/apply/gain.h"

struct trial {
    char what[640];   /* was tried, in words; "" = nothing was there to try */
    char redo[2048];  /* the command that has it */
    const char *unit; /* of the rates, "lines/s"; "" = nobody says */
    struct gain_pairs pairs;
    struct gain gain;
    struct beside beside;
    bool kept; /* else it is undone */
};

#endif
