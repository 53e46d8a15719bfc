/* A selfcheck in JSON: selfcheck.json, and --json. */
#ifndef CONTEND_STORE_FORMS_SELFCHECK_H
#define CONTEND_STORE_FORMS_SELFCHECK_H

#include <jansson.h>

#include "harness/verdict/runs/selfcheck.h"

/* What it was made of. */
struct selfcheck_about {
    const char *host, *utc, *scenario; /* when it began, ISO 8601 */
    bool complete;                     /* all trials that were asked for were made */
    int exit_code;
};

/*
 * {"schema", "host", "utc", "contend", "scenario", "complete", "exit_code", "kinds": [{"kind",
 * "title", "trials", "hits", "wrong", "errors", "share", "low", "high", "promise", "limit_s",
 * "rounds_median", "rounds_worst", "took_median_s", "took_worst_s", "outcome"}], "all_pairs":
 * {"pairs", "changed"}, "trials": [...], "findings": [...]}; what is unknown is null. NULL: no
 * memory. The caller owns the result.
 */
json_t *selfcheck_to_json(const struct selfcheck *check, const struct selfcheck_about *about,
                          const struct findings *findings);

#endif
