/* The outcomes of several scenarios. */
#ifndef CONTEND_SHOW_COLLECTION_H
#define CONTEND_SHOW_COLLECTION_H

#include "harness/show/doc.h"
#include "harness/verdict/collection.h"

void collection_add_to_doc(const struct collection *collection, struct doc *doc);

/* Prints the outcomes at 80 columns. */
void collection_print(const struct collection *collection, FILE *out, bool color);

#endif
