/*
 * Waivers: failures of `contend validate` that somebody accepts, for a reason and until a day.
 * Pure; validate/waivers.h reads them.
 */
#ifndef CONTEND_VALIDATE_RULES_WAIVE_H
#define CONTEND_VALIDATE_RULES_WAIVE_H

#include <stddef.h>

#include "harness/lib/finding.h"

struct waiver {
    char rule[32];
    char unit[160]; /* the subject, or a word of it: "GPU 2", "0000:3b:00.0"; "" = all units */
    char reason[160];
    char until[11]; /* "2026-12-31": the last day on which it counts */
    unsigned line;  /* in the file, for messages */
};

struct waivers {
    size_t n, capacity;
    struct waiver *all; /* owned */
};

/*
 * Turns failures that a waiver covers into warnings that give its reason. Covered failures and
 * warnings do not fail a strict verdict either. A waiver after its day does not count, and the
 * failure says so. `today` has the form of `until`.
 */
void waive_findings(const struct waivers *waivers, const char *today, struct findings *findings);

#endif
