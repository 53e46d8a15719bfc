/* The recommendation of this machine's newest result. */
#ifndef CONTEND_STORE_READ_RECOMMENDED_H
#define CONTEND_STORE_READ_RECOMMENDED_H

#include <stdbool.h>

#include "harness/lib/base/err.h"

struct recommended_request {
    const char *path;        /* results are looked for below it */
    const char *machine_key; /* machine/facts/key.h */
    unsigned workers;
    const char *const *job; /* the user's command, NULL-terminated; NULL = of any workload */
};

struct recommended {
    char path[4096];   /* "" = there is none */
    char setting[80];  /* "sized+8t", or what gains are relative to: leave it as it is */
    char workload[80]; /* scenario, or the first word of the command */
    char started[32];  /* UTC, ISO 8601 */
    double speed_up;   /* NaN = relative to nothing */
    bool applies;      /* else no setting is better than that */
    char options[512]; /* of 'contend place', separated by single blanks */
};

/*
 * The newest complete result that recommends something for so many workers on that machine, of the
 * same command where one is named. What cannot be read is passed over. -ENOMEM only; no such
 * directory is no error. Texts have no control characters.
 */
int recommended_find(const struct recommended_request *request, struct recommended *found,
                     struct err *err);

#endif
