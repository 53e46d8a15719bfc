/* Several scenarios as one page, which leads to that of each. */
#ifndef CONTEND_REPORT_HTML_COLLECTION_H
#define CONTEND_REPORT_HTML_COLLECTION_H

#include <stdio.h>

#include "harness/judge/collection.h"

/* -EIO: it could not be written. */
int html_print_collection(const struct collection *collection, FILE *out, struct err *err);

#endif
