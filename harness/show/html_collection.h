/* Several scenarios as one page, which links to the page of each. */
#ifndef CONTEND_SHOW_HTML_COLLECTION_H
#define CONTEND_SHOW_HTML_COLLECTION_H

#include <stdio.h>

#include "harness/verdict/collection.h"

/* -EIO: `out` has a write error. */
int html_print_collection(const struct collection *collection, FILE *out, struct err *err);

#endif
