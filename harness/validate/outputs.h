/* The files that `contend validate` writes. */
#ifndef CONTEND_VALIDATE_OUTPUTS_H
#define CONTEND_VALIDATE_OUTPUTS_H

#include <stdio.h>

#include "harness/lib/err.h"
#include "harness/show/doc.h"
#include "harness/validate/json.h"

/* Paths; NULL = not requested; "%h" becomes the host. */
struct validate_outputs {
    const char *junit, *prometheus, *html; /* files */
    const char *dir;                       /* for validate.json and summary.txt */
};

/* Prints `of`. Returns 0 or a negative errno. */
typedef int validate_print(const void *of, FILE *out, struct err *err);

/* Writes a file whole, replacing an existing one; creates missing folders. */
int validate_write_file(const char *path, validate_print *print, const void *of, struct err *err);

/* Writes the document as an HTML page. Replaces an existing file only if that is a page of ours. */
int validate_write_page(const char *path, const char *title, const struct doc *doc,
                        struct err *err);

/* Checks before the measurement that validate_write can write its files. */
int validate_check_outputs(const struct validate_outputs *outputs, const char *host,
                           struct err *err);

/*
 * Writes the requested files. Each is written under a temporary name and then renamed, because
 * other programs may read at any time. Creates missing folders. -errno, with the path in the
 * message.
 */
int validate_write(const struct validate_outputs *outputs, const struct validation *validation,
                   const struct doc *doc, struct err *err);

#endif
