/* The kinds of machines: the files in the program's folder machines, and a user's own. */
#ifndef CONTEND_VALIDATE_KINDS_H
#define CONTEND_VALIDATE_KINDS_H

#include "harness/validate/rules/rules.h"

/*
 * Reads a kind by name or path: "8xh100-sxm", "vm", "./own.json", "2x./own.json". -EINVAL for an
 * unknown name, with a list of the known ones; and the errors of machine_file_read.
 */
int kinds_read(const char *name, struct machine_kind *kind, struct err *err);

/* Suggests the kind that fits this machine's GPUs, to be named next time; "" = none is known. */
const char *kinds_suggest(const struct topo *topo);

#endif
