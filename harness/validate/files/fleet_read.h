/*
 * The results of many machines, for a fleet (validate/fleet/fleet.h): of each directory the rows
 * that count and who measured them, and nothing else, so that ten thousand are read in seconds. A
 * reader of a whole result is recorded.h.
 */
#ifndef CONTEND_VALIDATE_FILES_FLEET_READ_H
#define CONTEND_VALIDATE_FILES_FLEET_READ_H

#include "harness/validate/fleet/fleet.h"

/* Results are looked for in a directory, and so many levels of directories below it. */
enum { FLEET_DEPTH = 4 };

struct fleet_found {
    size_t again;   /* results that were read before, by another path: they count once */
    size_t results; /* that were read */
    size_t damaged; /* that could not be, each reported */
};

/*
 * Reads all results, and what `contend validate --out` wrote, at or below `path` into the fleet, in
 * the order of their names. Figures count on which a comparison may fail, of benchmarks that
 * fleet->benches has. `report` gets one line for each result that cannot be used: it names the file
 * and the line. Directories whose names begin with a dot, and links below `path`, are passed over.
 * Errors: what opening `path` gives, -ENOENT no result is there, -ENOMEM.
 */
int fleet_read(const char *path, void (*report)(const char *line), struct fleet *fleet,
               struct fleet_found *found, struct err *err);

/* Figures of validate.json have this as their scenario, and "profile=quick" in their params. */
#define FLEET_VALIDATE "validate"

/* The text of a validate.json. -EINVAL says what is wrong with it; -ENOMEM. */
int fleet_add_validation_text(const char *text, size_t size, struct fleet *fleet, struct err *err);

#endif
