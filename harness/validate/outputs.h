/* The files that `contend validate` writes. */
#ifndef CONTEND_VALIDATE_OUTPUTS_H
#define CONTEND_VALIDATE_OUTPUTS_H

#include <stdio.h>

#include "harness/lib/err.h"
#include "harness/show/doc.h"
#include "harness/validate/json.h"
#include "harness/validate/rules/rules.h"

/* Paths; NULL = not requested; "%h" becomes the host. */
struct validate_outputs {
    const char *junit, *prometheus, *html; /* files */
    const char *superbench;                /* file to which a line is appended */
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
 * Writes the requested files. Each but `superbench` is written under a temporary name and then
 * renamed, because other programs may read at any time. Creates missing folders. -errno, with the
 * path in the message.
 */
int validate_write(const struct validate_outputs *outputs, const struct validation *validation,
                   const struct doc *doc, struct err *err);

/* The kinds of machines: the files in the program's folder machines, and a user's own. */

/*
 * Reads a kind by name or path: "8xh100-sxm", "vm", "./own.json", "2x./own.json". -EINVAL for an
 * unknown name, with a list of the known ones; and the errors of machine_file_read.
 */
int kinds_read(const char *name, struct machine_kind *kind, struct err *err);

/* Suggests the kind that fits this machine's GPUs, to be named next time; "" = none is known. */
const char *kinds_suggest(const struct topo *topo);

#endif
