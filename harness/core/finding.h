/*
 * A finding: something that is wrong, odd, better or worth doing, said so that a person, a script
 * and a report can use it. Whoever decides that there is one makes it; printers are table/findings
 * and json/findings alone.
 */
#ifndef CONTEND_CORE_FINDING_H
#define CONTEND_CORE_FINDING_H

#include <stddef.h>

#include "harness/base/err.h"

enum finding_severity {
    FINDING_NOTE,  /* good to know */
    FINDING_DOUBT, /* what was measured may not hold */
    FINDING_BAD,   /* it did not work, or something here is not as it should be */
    FINDING_SEVERITIES
};
/* "note", "doubt", "bad". */
const char *finding_severity_name(enum finding_severity severity);

struct finding {
    char id[32]; /* for scripts, [a-z0-9_]+: what kind it is, the same in all versions */
    enum finding_severity severity;
    char subject[240];  /* what it is about: "GPU 2 (0000:00:08.0)"; "" = the whole */
    char sentence[900]; /* of that subject, for people; of the whole, a sentence with its stop */
    char evidence[200]; /* the numbers behind it; "" where the sentence has them */
    char command[512];  /* what gives it back or shows more; "" = nothing to be done here */
};

/* Zeroed = none. */
struct findings {
    size_t n, capacity;
    struct finding *all; /* owned, in the order in which they are told */
};

/* Appends a copy; free with findings_free, also after an error: -ENOMEM only. */
int findings_add(struct findings *findings, const struct finding *finding, struct err *err);
void findings_free(struct findings *findings);

#endif
