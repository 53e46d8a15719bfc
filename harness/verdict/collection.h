/*
 * The outcome of several scenarios that one command ran one after the other: a line each. Plain
 * data, for a table, a page and JSON. Zeroed = no scenario was reached.
 */
#ifndef CONTEND_VERDICT_COLLECTION_H
#define CONTEND_VERDICT_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/finding.h"

enum collected_end {
    COLLECTED_NOT_REACHED,
    COLLECTED_MEASURED,
    COLLECTED_SKIPPED, /* nothing of it can be measured here */
    COLLECTED_FAILED,  /* a part that this machine can measure was not measured */
    COLLECTED_INTERRUPTED,
    COLLECTED_ABSENT, /* read back: there is no result */
    COLLECTED_ENDS
};

struct collected {
    const char *scenario, *summary; /* borrowed */
    enum collected_end end;
    unsigned rounds, rounds_planned;
    double took_s;
    size_t doubts, bad; /* findings */
    char sentence[900]; /* its overall finding, or why it has none; "" = see its table */
    bool has_page;      /* SCENARIO/report.html */
};

struct collection {
    const char *host, *command; /* borrowed */
    char started[32];           /* UTC, ISO 8601 */
    size_t n;
    struct collected *all; /* owned by the caller */
};

/* "measured", "not reached". */
const char *collected_name(enum collected_end end);

/* The number of scenarios with this end. */
size_t collection_count(const struct collection *collection, enum collected_end end);

/* From the findings: counts by severity, and the sentence about the whole run. A finding with lower
 * severity is preferred for the sentence. */
void collected_judge(struct collected *collected, const struct findings *findings);

/* "9 scenarios: 7 measured, 2 skipped", in buf. */
const char *collection_format(const struct collection *collection);

/* "3 of 5 rounds, 31 s, 1 in doubt"; "" for a scenario that was not measured. */
const char *collected_format(const struct collected *collected);

#endif
