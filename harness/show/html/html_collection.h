/* Several scenarios as one page, which leads to that of each. */
#ifndef CONTEND_SHOW_HTML_HTML_COLLECTION_H
#define CONTEND_SHOW_HTML_HTML_COLLECTION_H

#include <stdio.h>

#include "harness/verdict/odd/collection.h"

/* -EIO: it could not be written. */
int html_print_collection(const struct collection *collection, FILE *out, struct err *err);

#endif
