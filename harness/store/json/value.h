/*
 * JSON values from what the machine says: strings of unknown encoding and numbers that may be NaN.
 * jansson refuses both (it returns NULL, which then fails a whole document); these never do,
 * except for want of memory.
 */
#ifndef CONTEND_STORE_JSON_VALUE_H
#define CONTEND_STORE_JSON_VALUE_H

#include <jansson.h>

#include "harness/lib/base/err.h"

/* A string; each byte that is not part of valid UTF-8 becomes '?'. NULL gives JSON null. */
json_t *json_value_text(const char *text);

/* As json_value_text, but "" gives null too: for fields where empty means absent. */
json_t *json_value_text_or_null(const char *text);

/*
 * Prints the document to stdout, with a newline, and lets go of it. Errors: -ENOMEM, also for NULL,
 * -EIO.
 */
int json_value_print(json_t *json, int indent, struct err *err);

/* A real number; NaN and infinities give null. */
json_t *json_value_real(double value);

/* Of an object: a number, NaN where that key has none; and a text, "" where it has none. */
double json_value_number_of(const json_t *object, const char *key);
void json_value_copy_text(const json_t *object, const char *key, char *to, size_t size);

/*
 * Control characters in all texts of it become spaces (text_one_line), as in the cells of a CSV
 * file: what a file says commands no terminal. NULL is passed on; returns json.
 */
json_t *json_value_one_line(json_t *json);

#endif
