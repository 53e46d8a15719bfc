/*
 * JSON values from what the machine says: strings of unknown encoding and numbers that may be NaN.
 * jansson refuses both (it returns NULL, which then fails a whole document); these never do,
 * except for want of memory.
 */
#ifndef CONTEND_RECORD_JSON_VALUE_H
#define CONTEND_RECORD_JSON_VALUE_H

#include <jansson.h>
#include <stddef.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/finding.h"

/* Replaces the file by the document, from json_dumps with these flags. Errors: -ENOMEM, also for
 * NULL; those of file_replace. */
int json_value_replace(const json_t *json, size_t flags, int dir_fd, const char *name,
                       struct err *err);

/* A string; each byte that is not part of valid UTF-8 becomes '?'. NULL gives JSON null. */
json_t *json_value_text(const char *text);

/* As json_value_text, but "" gives null too: for fields where empty means absent. */
json_t *json_value_text_or_null(const char *text);

/*
 * Prints the document to stdout, with a newline, and releases it. Errors: -ENOMEM, also for NULL;
 * -EIO.
 */
int json_value_print(json_t *json, int indent, struct err *err);

/* "0-3,8" as a JSON string; NULL: no memory. */
json_t *bitset_to_json(const struct bitset *set);

/* A real number; NaN and infinities give null. */
json_t *json_value_real(double value);

/* The number of a key, NaN if it has none; copies the text of a key, "" if it has none. */
double json_value_number_of(const json_t *object, const char *key);
const char *json_value_copy_text(const json_t *object, const char *key);

/*
 * Control characters in all its texts become spaces (text_one_line), as in the cells of a CSV file,
 * so that a file cannot send escapes to a terminal. NULL is passed on; returns json.
 */
json_t *json_value_one_line(json_t *json);

/*
 * An object of these keys in their order, each followed by a colon and the kind of its argument:
 *
 *   json_value_object("name:t rounds:i median:r", row->name, row->rounds, row->median)
 *
 * t: a text; T: a text, "" is null; r: double; i: int or unsigned; I: int64_t; z: size_t; n and N:
 * int and int64_t that are unknown below 0; f: a flag as int, unknown below 0; d and F: a whole
 * number and a flag as double; b: bool; c: struct bitset *, as "0-3,8"; o: json_t *, which the
 * object then owns. Unknown is null. NULL: no memory.
 */
json_t *json_value_object(const char *keys, ...);
/* Adds keys to an object; 0, or -1 without memory. If `object` is NULL, it only releases the
 * arguments of kind o. */
int json_value_add(json_t *object, const char *keys, ...);

/*
 * An array of `item` for each of the first n elements of `elements`; `each` points to the element.
 * NULL: no memory.
 *
 *   JSON_ARRAY(gpu, topo->gpus, topo->ngpus, json_value_object("name:t", gpu->name))
 */
#define JSON_ARRAY(each, elements, n, item)                                                        \
    ({                                                                                             \
        json_t *each##_all = json_array();                                                         \
        for (size_t each##_at = 0; each##_at < (n); each##_at++) {                                 \
            __auto_type each = &(elements)[each##_at];                                             \
            json_value_append(&each##_all, (item));                                                \
        }                                                                                          \
        each##_all;                                                                                \
    })
/* Appends the item, which the array then owns. Without memory for it *array becomes NULL. */
void json_value_append(json_t **array, json_t *item);

/* The text of a key, "" if it has none; the whole number of a key, 0 if it has none or a negative
 * one. */
const char *json_value_text_of(const json_t *object, const char *key);
unsigned json_value_count_of(const json_t *object, const char *key);

/* Findings in JSON: the same form everywhere. */

/*
 * [{"id", "severity": "note"|"doubt"|"bad", "subject", "sentence", "evidence", "command"}]; empty
 * texts are null. A finding with an outcome also has "outcome", "cause" and "metric"; with a metric
 * also "unit", and "value", "low" and "high", numbers or null. NULL: no memory. The caller owns the
 * result.
 */
json_t *findings_to_json(const struct findings *findings);

/* Reads them back; those of unknown severity are left out. */
void findings_from_json(const json_t *json, struct findings *findings);

/*
 * Walks over the members of an object, or the elements of an array, as pieces of the JSON text. It
 * serves to take a little out of a large file, or to find the line of a value. The content of a
 * piece is not checked: that is up to its parser.
 */
struct json_piece {
    const char *at;
    size_t length;
};

struct json_walk {
    const char *at, *end;
    char open; /* '{' or '[' */
};

/* 0, or -EINVAL: no such container begins there. */
int json_walk_open(struct json_walk *walk, struct json_piece text, char open);

/*
 * Reads the next piece: 1, 0 after the last piece, or -EINVAL: the text ends within it, or is not
 * JSON. The name is without its quotes, and empty in an array.
 */
int json_walk_next(struct json_walk *walk, struct json_piece *name, struct json_piece *value);

/* The member of that name, parsed; the caller owns it. NULL: it is missing, or is not JSON. */
json_t *json_walk_member(struct json_piece object, const char *name);

#endif
