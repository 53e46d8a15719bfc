/* The summary at a run's end: verdict, table and findings, from the files that hold them.
 */
#ifndef CONTEND_CMD_COMMON_SUMMARY_H
#define CONTEND_CMD_COMMON_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/store/json/value.h"
#include "harness/store/read/recorded.h"

/* At 80 columns, and `all` of it or what a first look needs; below it the directory, where `path`
 * names it. */
void summary_print(const struct recorded *recorded, const char *path, bool all, FILE *out,
                   bool color);

/* All of it in memory, without color: free() *text. -ENOMEM only. */
int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err);

/* The same for --json; NULL without memory. */
json_t *summary_to_json(const struct recorded *recorded);

#endif
