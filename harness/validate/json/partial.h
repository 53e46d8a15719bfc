/* resume.json: measurements of a validation that has not ended, for the one that goes on with it.
 */
#ifndef CONTEND_VALIDATE_JSON_PARTIAL_H
#define CONTEND_VALIDATE_JSON_PARTIAL_H

#include <jansson.h>

#include "harness/machine/facts/facts.h"

#define PARTIAL_NAME "resume.json"

/* A measurement of an earlier day says nothing of a machine today. */
enum { PARTIAL_OLDEST_S = 24 * 3600 };

/*
 * {"schema": 1, "machine": key, "contend", "commit", "profile", "ended": {probe: seconds since
 * 1970}, "measured": as in validate.json}. NULL: no memory.
 */
json_t *partial_to_json(const struct facts *facts, const char *profile);

/*
 * Takes what is not too old into the facts of this machine, which borrow from the document from
 * then on; `known` gets their bits. -EINVAL: it is damaged, of another machine, build or profile,
 * or all of it is too old.
 */
int partial_take(const json_t *partial, const char *profile, time_t now, struct facts *facts,
                 unsigned *known, struct err *err);

#endif
