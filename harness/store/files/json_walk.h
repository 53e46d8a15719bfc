/*
 * Members of an object, or elements of an array, of JSON text, one after the other as pieces of
 * that text: to take a little out of a large file, or to say in which line something stands. What a
 * piece holds is looked at by who parses it.
 */
#ifndef CONTEND_STORE_FILES_JSON_WALK_H
#define CONTEND_STORE_FILES_JSON_WALK_H

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
 * The next one: 1, 0 behind the last one, or -EINVAL: the text ends within it, or is no JSON. The
 * name is without its quotes, and empty in an array.
 */
int json_walk_next(struct json_walk *walk, struct json_piece *name, struct json_piece *value);

/* The member of that name, parsed; NULL: it is not there, or is no JSON. */
json_t *json_walk_member(struct json_piece object, const char *name);

#endif
