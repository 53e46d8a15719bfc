/* The recommendation of this machine's newest result. */
#ifndef CONTEND_SHOW_JSON_RECOMMENDED_H
#define CONTEND_SHOW_JSON_RECOMMENDED_H

#include <stdbool.h>

#include "harness/lib/err.h"
#include "harness/plan/options.h"

struct recommended_request {
    const char *path;        /* results are looked for below it */
    const char *machine_key; /* machine/key.h */
    unsigned workers;
    const char *const *job; /* the user's command, NULL-terminated; NULL = any workload */
};

struct recommended {
    char path[4096];   /* "" = there is none */
    char setting[80];  /* "sized+8t"; the reference if no setting is better */
    char workload[80]; /* scenario, or the first word of the command */
    char started[32];  /* UTC, ISO 8601 */
    double speed_up;   /* NaN = there is no reference */
    double low;        /* of its interval */
    char load[80];     /* beside which it was measured, "others used 44% of the CPUs"; "" = quiet */
    bool applies;      /* false: no setting is better than the reference, leave it as it is */
    enum placement placement;
    struct plan_options plan; /* its text is in `cpus` */
    char cpus[256];
    unsigned background; /* workers */
};

/*
 * Finds the newest complete result that has a recommendation for that number of workers on that
 * machine, and for the same command if `job` is set. Unreadable results are skipped. Errors:
 * -ENOMEM only; a missing directory is no error. Texts have no control characters.
 */
int recommended_find(const struct recommended_request *request, struct recommended *found,
                     struct err *err);

#endif
