/*
 * Reads the results of many machines into a fleet (validate/fleet.h). From each directory it
 * takes only the machine and the rows that count, so that ten thousand results take seconds.
 * recorded.h reads a whole result.
 */
#ifndef CONTEND_VALIDATE_FLEET_READ_H
#define CONTEND_VALIDATE_FLEET_READ_H

#include "harness/validate/fleet.h"

/* Depth of the search: levels of directories below the given one. */
enum { FLEET_DEPTH = 4 };

struct fleet_found {
    size_t again;   /* results found earlier by another path; they count once */
    size_t results; /* results that were read */
    size_t damaged; /* results that could not be read, each reported */
};

/*
 * Reads all results, and what `contend validate --out` wrote, at or below `path` into the fleet, in
 * the order of their names. A figure counts if a comparison may fail on it and fleet->benches has
 * its benchmark. `report` gets a line for each unusable result, with file and line number.
 * Directories whose names begin with a dot, and links below `path`, are skipped. Errors: those of
 * opening `path`, -ENOENT no result was found, -ENOMEM.
 */
int fleet_read(const char *path, void (*report)(const char *line), struct fleet *fleet,
               struct fleet_found *found, struct err *err);

/* The scenario of figures from validate.json, whose params have "profile=quick". */
#define FLEET_VALIDATE "validate"

/* Adds the text of a validate.json. -EINVAL says what is wrong with it; -ENOMEM. */
int fleet_add_validation_text(const char *text, size_t size, struct fleet *fleet, struct err *err);

#endif
