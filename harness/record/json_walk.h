/*
 * Walks over the members of an object, or the elements of an array, as pieces of the JSON text. It
 * serves to take a little out of a large file, or to find the line of a value. The content of a
 * piece is not checked: that is up to its parser.
 */
#ifndef CONTEND_RECORD_JSON_WALK_H
#define CONTEND_RECORD_JSON_WALK_H

#include <jansson.h>
#include <stddef.h>

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
