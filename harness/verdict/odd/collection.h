/*
 * What became of several scenarios that one command ran, one after the other: a line each. Plain
 * data, for a table, a page and JSON. Zeroed = none was reached.
 */
#ifndef CONTEND_VERDICT_ODD_COLLECTION_H
#define CONTEND_VERDICT_ODD_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/finding.h"

enum collected_end {
    COLLECTED_NOT_REACHED,
    COLLECTED_MEASURED,
    COLLECTED_SKIPPED, /* nothing of it can be measured here */
    COLLECTED_FAILED,  /* something of it should have been measured, and was not */
    COLLECTED_INTERRUPTED,
    COLLECTED_ABSENT, /* read back: no result is there, for whatever reason */
    COLLECTED_ENDS
};

struct collected {
    const char *scenario, *summary; /* borrowed */
    enum collected_end end;
    unsigned rounds, rounds_planned;
    double took_s;
    size_t doubts, bad; /* findings */
    char sentence[900]; /* what it says as a whole, or why there is nothing; "" = see its table */
    bool has_page;      /* SCENARIO/report.html */
};

struct collection {
    const char *host, *command; /* borrowed */
    char started[32];           /* UTC, ISO 8601 */
    size_t n;
    struct collected *all; /* owned by who made it */
};

/* "measured", "not reached". */
const char *collected_name(enum collected_end end);

/* How many ended so. */
size_t collection_count(const struct collection *collection, enum collected_end end);

/* From the findings: how many of which kind, and what is said of the whole, doubts last. */
void collected_judge(struct collected *collected, const struct findings *findings);

/* "9 scenarios: 7 measured, 2 skipped", in buf. */
char *collection_format(const struct collection *collection, char *buf, size_t size);

/* "3 of 5 rounds, 31 s, 1 doubt"; "" of one that was not measured. Returns buf. */
char *collected_format(const struct collected *collected, char *buf, size_t size);

#endif
