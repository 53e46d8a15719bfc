/* A fleet that was judged, at 80 columns: odd machines, worst first. */
#ifndef CONTEND_VALIDATE_TABLES_FLEET_H
#define CONTEND_VALIDATE_TABLES_FLEET_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/validate/fleet/judge.h"

/* More odd machines, and more of what is off with one of them, are counted only. */
enum { FLEET_LINES = 200, FLEET_OFFENCES = 3 };

void fleet_print(const struct fleet_judgement *judgement, FILE *out, bool color);

#endif
