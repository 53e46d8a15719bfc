/* Reads several results: a directory that is a result, or results below a directory. */
#ifndef CONTEND_SHOW_JSON_RUNS_H
#define CONTEND_SHOW_JSON_RUNS_H

#include <stdbool.h>

#include "harness/lib/err.h"
#include "harness/plan/options.h"
#include "harness/record/directory.h"
#include "harness/show/json/recorded.h"

/* Zeroed = none. */
struct runs {
    size_t n, capacity;
    struct run {
        char *path;
        struct recorded *recorded; /* owned; not moved, as its members point into it */
    } * all;                       /* owned */
};

/*
 * Appends the result in `path` or, if that is no result, the results below it in the order of
 * names. directory_recover runs first on each. Errors name the path: -ENOENT no result is there,
 * and those of recorded_read. Below `path`, a result without a finished round is left out with a
 * warning. Free with runs_free, also after an error.
 */
int runs_read(const char *path, const struct bench *const *benches,
              directory_remove *remove_figures, struct runs *runs, struct err *err);
/* Frees all but the first n. */
void runs_forget_from(struct runs *runs, size_t n);
void runs_free(struct runs *runs);

/* The recommendation of this machine's newest result. */
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
