/* A fleet that was judged: the verdict, then odd machines, worst first. */
#ifndef CONTEND_VALIDATE_TABLES_FLEET_H
#define CONTEND_VALIDATE_TABLES_FLEET_H

#include "harness/show/doc/doc.h"
#include "harness/validate/fleet/judge.h"

/* More odd machines, and more of what is off with one of them, are counted only. */
enum { FLEET_LINES = 200, FLEET_OFFENCES = 3 };

void fleet_add_to_doc(const struct fleet_judgement *judgement, struct doc *doc);

/* Bounds by so many machines, written to `path`: the command that uses them, machines left out. */
void bounds_add_to_doc(const struct bounds *bounds, size_t machines, const char *path,
                       struct doc *doc);

#endif
