/*
 * Waivers: failures of `contend validate` that somebody has decided to live with, for a reason and
 * until a day. Pure; validate/files/waivers.h reads them.
 */
#ifndef CONTEND_VALIDATE_RULES_WAIVE_H
#define CONTEND_VALIDATE_RULES_WAIVE_H

#include <stddef.h>

#include "harness/contract/finding.h"

struct waiver {
    char rule[32];
    char unit[160]; /* of that subject, or of those that have it as a word of theirs: "GPU 2",
                       "0000:3b:00.0"; "" = of every one */
    char reason[160];
    char until[11]; /* "2026-12-31": the last day on which it counts */
    unsigned line;  /* of the file, for messages */
};

struct waivers {
    size_t n, capacity;
    struct waiver *all; /* owned */
};

/*
 * Failures that a waiver is for become warnings that give its reason, and which do not fail a
 * strict verdict either, nor do warnings that one is for. One that is behind its day does not
 * count, and the failure says so. `today` as `until`.
 */
void waive_findings(const struct waivers *waivers, const char *today, struct findings *findings);

#endif
