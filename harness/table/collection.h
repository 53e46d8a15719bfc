/* What became of several scenarios, at 80 columns. */
#ifndef CONTEND_TABLE_COLLECTION_H
#define CONTEND_TABLE_COLLECTION_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/judge/collection.h"

void collection_print(const struct collection *collection, FILE *out, bool color);

#endif
