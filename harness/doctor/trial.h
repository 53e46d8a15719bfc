/* The result of a fix that was tried, for text and JSON output. */
#ifndef CONTEND_DOCTOR_TRIAL_H
#define CONTEND_DOCTOR_TRIAL_H

#include "harness/doctor/bystanders.h"
#include "harness/doctor/gain.h"

struct trial {
    char what[640];   /* what was tried, in words; "" = there was nothing to try */
    char redo[2048];  /* the command that applies it again */
    const char *unit; /* of the rates, such as "lines/s"; "" = unknown */
    struct gain_pairs pairs;
    struct evidence gain;
    struct bystanders bystanders;
    bool kept; /* else it was undone */
};

#endif
