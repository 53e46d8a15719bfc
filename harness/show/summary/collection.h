/* What became of several scenarios, at 80 columns. */
#ifndef CONTEND_SHOW_SUMMARY_COLLECTION_H
#define CONTEND_SHOW_SUMMARY_COLLECTION_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/verdict/odd/collection.h"

void collection_print(const struct collection *collection, FILE *out, bool color);

#endif
