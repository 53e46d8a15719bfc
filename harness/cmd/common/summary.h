/* The summary of a result: verdict, table and findings. */
#ifndef CONTEND_CMD_COMMON_SUMMARY_H
#define CONTEND_CMD_COMMON_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/record/json_value.h"
#include "harness/show/json/recorded.h"

/* Prints at 80 columns. `all`: with details. `path`: also prints this directory; or NULL. */
void summary_print(const struct recorded *recorded, const char *path, bool all, FILE *out,
                   bool color);

/* Writes it with details, without color, into *text, which the caller frees. Error: -ENOMEM. */
int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err);

/* The summary for --json; NULL: out of memory. */
json_t *summary_to_json(const struct recorded *recorded);

#endif
