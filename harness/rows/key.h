/*
 * Rows that scans emitted: whose they are, and their keys taken apart. A key is what a benchmark
 * gave to bench_emit, such as "size=16384;pages=4k": parts of a name and a value.
 */
#ifndef CONTEND_ROWS_KEY_H
#define CONTEND_ROWS_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/row.h"

/* The arm's row of that metric at or behind *at, which then points behind it; NULL = no more. */
const struct row *key_next_row(const struct rows *rows, const struct arm *arm, const char *metric,
                               size_t *at);

/* The arm's row of the metric at that key, or NULL. */
const struct row *key_find_row(const struct rows *rows, const struct arm *arm, const char *metric,
                               const char *key);

/* Copies the row's key; returns it. */
char *key_copy(const struct row *row, char key[static VALUE_KEY_MAX]);

/* The same as tables and figures are made of it: see `hidden` of struct bench_metric. */
char *key_shown(const struct row *row, char key[static VALUE_KEY_MAX]);

/* Name and value of a part; false where the key has no part of that number. */
bool key_part(const char *key, unsigned part, char name[static VALUE_KEY_MAX],
              char value[static VALUE_KEY_MAX]);

/* Whether the key has a value for that name. */
bool key_has(const char *key, const char *name);

/* Copies the value of a part and returns it; NULL where the key has no such name. */
char *key_get(const char *key, const char *name, char value[static VALUE_KEY_MAX]);

/* As a number; NaN where it is none. */
double key_number(const char *key, const char *name);

/* Takes the part of that name out; of params as well, which may be longer than a key. */
void key_drop(char *key, const char *name);

/* Whether the parts that key and pattern both have are equal; pattern NULL: always. */
bool key_agrees(const char *key, const char *pattern);

/* A key, or what is left of one, for people: "4 KiB pages", "SMT sibling". Returns buf. */
char *key_say(const struct bench *bench, const char *key, char *buf, size_t size);

/* Behind it what tells the arm from others: parameters and placement. */
char *key_say_arm(const struct result *result, const struct arm *arm, const char *key, char *buf,
                  size_t size);

/* Of it only the parameters. */
char *key_say_params(const struct result *result, const struct arm *arm, char *buf, size_t size);

/*
 * The same in two: the arm's parameters, where the key does not have them, and number of workers,
 * which tell parts of a run apart; the key, and behind it the placement, in such a part.
 */
char *key_say_part(const struct result *result, const struct arm *arm, const char *key, char *buf,
                   size_t size);
char *key_say_in_part(const struct result *result, const struct arm *arm, const char *key,
                      char *buf, size_t size);

#endif
