/* A judged fleet as blocks: the verdict, then odd machines, worst first. */
#ifndef CONTEND_VALIDATE_TABLES_FLEET_H
#define CONTEND_VALIDATE_TABLES_FLEET_H

#include "harness/show/doc.h"
#include "harness/validate/judge.h"

/* Most machines, and most offences per machine, that are listed; the rest is only counted. */
enum { FLEET_LINES = 200, FLEET_OFFENCES = 3 };

void fleet_add_to_doc(const struct fleet_judgement *judgement, struct doc *doc);

/* Adds bounds, made from `machines` machines and written to `path`, and machines left out. */
void bounds_add_to_doc(const struct bounds *bounds, size_t machines, const char *path,
                       struct doc *doc);

#endif
