/* What a run says at its end: doubts about it, table and findings, from the files that hold them.
 */
#ifndef CONTEND_CMD_COMMON_SUMMARY_H
#define CONTEND_CMD_COMMON_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/store/json/value.h"
#include "harness/store/read/recorded.h"

/* At 80 columns; below it the directory, where `path` names it, and what measured it. */
void summary_print(const struct recorded *recorded, const char *path, FILE *out, bool color);

/* What summary_print prints, in memory and without color: free() *text. -ENOMEM only. */
int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err);

/* What --json prints of it; NULL without memory. */
json_t *summary_to_json(const struct recorded *recorded);

#endif
