/*
 * A finding: something that is wrong, odd, better or worth doing, or the outcome of a check or a
 * comparison, in a form for people, scripts and reports. The code that decides makes the finding;
 * each output form has one printer: show, record/json_value, show.
 */
#ifndef CONTEND_LIB_FINDING_H
#define CONTEND_LIB_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"

enum finding_severity {
    FINDING_NOTE,  /* good to know */
    FINDING_DOUBT, /* a warning: a measurement may not hold */
    FINDING_BAD,   /* an error: something failed, or is not as it should be */
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
    OUTCOME_SKIP,  /* does not apply here; the sentence gives the reason */
    OUTCOME_ERROR, /* a required check could not run: never a pass */
    OUTCOME_FASTER,
    OUTCOME_SLOWER,
    OUTCOME_SAME,    /* the difference is proven to be below the threshold */
    OUTCOME_UNCLEAR, /* not enough evidence for FASTER, SLOWER or SAME */
    OUTCOME_MISSING, /* only one side has the metric, or the sides are not comparable */
    OUTCOMES
};
/* "PASS", "SLOWER"; "" for OUTCOME_NONE. */
const char *finding_outcome_name(enum finding_outcome outcome);
/* OUTCOME_NONE for an unknown name, and for NULL. */
enum finding_outcome finding_outcome_find(const char *name);

struct finding {
    char id[32]; /* its kind, for scripts, [a-z0-9_]+; stable across versions */
    enum finding_severity severity;
    char subject[240];  /* "GPU 2 (0000:00:08.0)"; "" = the whole machine or result */
    char sentence[900]; /* for people, follows the subject; without one, ends with a full stop */
    char evidence[200]; /* the numbers behind it; "" if the sentence has them */
    char command[1024]; /* the command that fixes it or shows more; "" = none */

    enum finding_outcome outcome;
    bool waived;     /* accepted by a waiver: no failure, not even with --strict */
    char cause[16];  /* for checks: hardware, configuration, container or setup (of the test) */
    char metric[64]; /* metric of the numbers below; "" = no numbers */
    char unit[32];
    double value;     /* NaN = none */
    double low, high; /* for a check, the bounds that pass; for a value, its interval; NaN = open */
};

/* What stands before the finding's command: "to apply it", or "to see more" if it only shows. */
const char *finding_command_label(const struct finding *finding);

/* Zeroed = none. */
struct findings {
    size_t n, capacity;
    struct finding *all; /* owned, in the order of output */
    bool failed;         /* an append ran out of memory */
};

/*
 * Appends a copy; sets `failed` if out of memory. After the last one, findings_check returns
 * -ENOMEM for that.
 */
void findings_put(struct findings *findings, const struct finding *finding);
int findings_check(const struct findings *findings, struct err *err);
void findings_free(struct findings *findings);
/* As findings_put, with the formatted text as the sentence. */
__attribute__((format(printf, 3, 4))) void
findings_putf(struct findings *findings, const struct finding *finding, const char *fmt, ...);

/* For code that reports several findings of one subject. */
struct findings_about {
    struct findings *findings;
    const char *subject, *evidence; /* NULL = "" */
};
__attribute__((format(printf, 4, 5))) void findings_report(const struct findings_about *about,
                                                           const char *id,
                                                           enum finding_severity severity,
                                                           const char *fmt, ...);

#endif
