/* The program's own name, for commands that a person is to paste. */
#ifndef CONTEND_CMD_COMMON_PROGRAM_H
#define CONTEND_CMD_COMMON_PROGRAM_H

#include <stddef.h>

#include "harness/lib/base/err.h"

/*
 * How a shell starts this program again in the folder where it was started: argv[0], or what
 * ./contend, which starts it by another path, says in CONTEND_PROGRAM. Quoted where it must be;
 * "contend" where there is no room. Returns buf.
 */
char *program_name(const char *argv0, char *buf, size_t size);

enum { PROGRAM_PATH_MAX = 4096 };

/* Path of the program of that name in the folder of this one, there or not: -errno without /proc.
 */
int program_beside(const char *name, char *path, size_t size, struct err *err);

/*
 * Path of a file that comes with the program: beside it, or in ../share/contend of an installation.
 * -ENOENT names both.
 */
int program_share(const char *name, char *path, size_t size, struct err *err);

#endif
