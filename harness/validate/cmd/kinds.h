/* The kinds of machines that come with the program, in the folder machines, and a user's own. */
#ifndef CONTEND_VALIDATE_CMD_KINDS_H
#define CONTEND_VALIDATE_CMD_KINDS_H

#include "harness/validate/rules/rules.h"

/*
 * "8xh100-sxm", "vm", "./own.json", "2x./own.json": -EINVAL for a name that is not known, which
 * lists those that are; and as machine_file_read.
 */
int kinds_read(const char *name, struct machine_kind *kind, struct err *err);

/* The kind of the GPUs that are here, for whoever validates next; "" = none is known. */
void kinds_suggest(const struct topo *topo, char name[static MACHINE_NAME_MAX]);

#endif
