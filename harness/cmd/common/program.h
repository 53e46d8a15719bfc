/* The program's own name, for commands to paste into a shell; files that come with it. */
#ifndef CONTEND_CMD_COMMON_PROGRAM_H
#define CONTEND_CMD_COMMON_PROGRAM_H

#include <stddef.h>

#include "harness/lib/err.h"

/*
 * The word that starts this program again from the same working directory: CONTEND_PROGRAM, which
 * the script ./contend sets, or argv[0]. Quoted for a shell if necessary; "contend" if it does not
 * fit or has control characters. Returns buf.
 */
char *program_name(const char *argv0, char *buf, size_t size);

enum { PROGRAM_PATH_MAX = 4096 };

/* Path of a program in the folder of this one; need not exist. -errno without /proc. */
int program_beside(const char *name, char *path, size_t size, struct err *err);

/*
 * Path of a file that comes with the program: beside it, or in ../share/contend of an installation.
 * -ENOENT: the message names both.
 */
int program_share(const char *name, char *path, size_t size, struct err *err);

#endif
