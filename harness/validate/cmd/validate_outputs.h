/* The files that `contend validate` writes. */
#ifndef CONTEND_VALIDATE_CMD_VALIDATE_OUTPUTS_H
#define CONTEND_VALIDATE_CMD_VALIDATE_OUTPUTS_H

#include <stdio.h>

#include "harness/lib/base/err.h"
#include "harness/show/doc/doc.h"
#include "harness/validate/json/validation.h"

/* Paths; NULL = not asked for; "%h" becomes the host. */
struct validate_outputs {
    const char *junit, *prometheus, *html; /* files */
    const char *dir;                       /* for validate.json and summary.txt */
};

/* Prints `of`; 0 or an error. */
typedef int validate_print(const void *of, FILE *out, struct err *err);

/* Writes a file whole, in place of one that is there; makes folders that are not. */
int validate_write_file(const char *path, validate_print *print, const void *of, struct err *err);

/* The document as a page; a file that is there is replaced if it is a page of ours. */
int validate_write_page(const char *path, const char *title, const struct doc *doc,
                        struct err *err);

/*
 * Writes each file whole, under a name of its own that is then changed, since others may read at
 * any time; makes folders that are not there. -errno with the path.
 */
int validate_write(const struct validate_outputs *outputs, const struct validation *validation,
                   const struct doc *doc, struct err *err);

#endif
