/*
 * A finding: something that is wrong, odd, better or worth doing, or how a check or a comparison
 * ended, said so that a person, a script and a report can use it. Whoever decides that there is one
 * makes it; each form has one printer: show/doc, store/json/findings, show/report.
 */
#ifndef CONTEND_CONTRACT_FINDING_H
#define CONTEND_CONTRACT_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"

enum finding_severity {
    FINDING_NOTE,  /* good to know */
    FINDING_DOUBT, /* what was measured may not hold */
    FINDING_BAD,   /* it did not work, or something here is not as it should be */
    FINDING_SEVERITIES
};
/* "note", "doubt", "bad". */
const char *finding_severity_name(enum finding_severity severity);

/* How a check, or a comparison of one metric, ended. */
enum finding_outcome {
    OUTCOME_NONE, /* the finding judges nothing */
    OUTCOME_PASS,
    OUTCOME_WARN,
    OUTCOME_FAIL,
    OUTCOME_SKIP,  /* does not apply here, for the reason that the sentence gives */
    OUTCOME_ERROR, /* was required, and could not be looked at: never a pass */
    OUTCOME_FASTER,
    OUTCOME_SLOWER,
    OUTCOME_SAME,    /* shown to differ by less than what counts */
    OUTCOME_UNCLEAR, /* not enough evidence for any of the three */
    OUTCOME_MISSING, /* only one side has it, or the sides may not be compared */
    OUTCOMES
};
/* "PASS", "SLOWER"; of OUTCOME_NONE "". */
const char *finding_outcome_name(enum finding_outcome outcome);
/* OUTCOME_NONE for an unknown name, and for NULL. */
enum finding_outcome finding_outcome_find(const char *name);

struct finding {
    char id[32]; /* for scripts, [a-z0-9_]+: what kind it is, the same in all versions */
    enum finding_severity severity;
    char subject[240];  /* what it is about: "GPU 2 (0000:00:08.0)"; "" = the whole */
    char sentence[900]; /* of that subject, for people; of the whole, a sentence with its stop */
    char evidence[200]; /* the numbers behind it; "" where the sentence has them */
    char command[1024]; /* the command that fixes it or shows more; "" = none */

    enum finding_outcome outcome;
    bool waived;     /* somebody lives with it: no reason to fail, strictly neither */
    char cause[16];  /* of a check: hardware, configuration, container or setup (of the test); or ""
                      */
    char metric[64]; /* what the numbers below are of; "" = there are none */
    char unit[32];
    double value; /* NaN = none */
    double low,
        high; /* what bounds it: of a check what passes, of a value its interval; NaN = open */
};

/* Zeroed = none. */
struct findings {
    size_t n, capacity;
    struct finding *all; /* owned, in the order in which they are told */
    bool failed;         /* there was no memory for one of them */
};

/* Appends a copy; free with findings_free, also after an error: -ENOMEM only. */
int findings_add(struct findings *findings, const struct finding *finding, struct err *err);
void findings_free(struct findings *findings);

/*
 * The same for those who make many: without memory `failed` is set, and whoever hands them on asks
 * findings_check once, which then gives -ENOMEM.
 */
void findings_put(struct findings *findings, const struct finding *finding);
int findings_check(const struct findings *findings, struct err *err);
/* With that sentence. */
__attribute__((format(printf, 3, 4))) void
findings_putf(struct findings *findings, const struct finding *finding, const char *fmt, ...);

/* Findings of one who judges a subject. */
struct findings_about {
    struct findings *findings;
    struct err *err;
    const char *subject, *evidence; /* NULL = "" */
    int rc;                         /* the first error; nothing is added any more */
};
__attribute__((format(printf, 4, 5))) void findings_report(struct findings_about *about,
                                                           const char *id,
                                                           enum finding_severity severity,
                                                           const char *fmt, ...);

#endif
