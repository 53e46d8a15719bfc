/*
 * Any text walked member by member: its pieces lie within it, in order. If jansson accepts the
 * whole text, the pieces equal those of jansson.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/json_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the number of members; `values` (or NULL) are the expected ones, in order. */
static size_t walk_all(struct json_piece text, char open, json_t *const *values, int *ended)
{
    struct json_walk walk;
    struct json_piece name, value;
    const char *behind = text.at;
    size_t n = 0;
    *ended = json_walk_open(&walk, text, open);
    if (*ended)
        return 0;
    while ((*ended = json_walk_next(&walk, &name, &value)) == 1) {
        if (name.at < behind || (open == '{' && name.at + name.length >= value.at) ||
            value.at < behind || !value.length || value.at + value.length > text.at + text.length)
            abort();
        behind = value.at + value.length;
        json_t *json = values ? json_loadb(value.at, value.length, JSON_DECODE_ANY, NULL) : NULL;
        if (values && !json_equal(json, values[n]))
            abort();
        json_decref(json);
        n++;
    }
    return n;
}

static json_t **list_values(json_t *whole, size_t *n)
{
    const char *name;
    json_t *value;
    size_t i;
    *n = 0;
    json_t **values = calloc(json_object_size(whole) + json_array_size(whole) + 1, sizeof(*values));
    if (!values)
        abort();
    json_object_foreach(whole, name, value) values[(*n)++] = value;
    json_array_foreach(whole, i, value) values[(*n)++] = value;
    return values;
}

static void compare(struct json_piece text, json_t *whole)
{
    size_t n;
    int ended;
    json_t **values = list_values(whole, &n);
    if (walk_all(text, json_is_object(whole) ? '{' : '[', values, &ended) != n || ended)
        abort();
    free((void *)values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ended;
    char *copy = malloc(size ? size : 1); /* without a terminating 0 */
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    const struct json_piece text = {copy, size};
    json_t *whole = json_loadb(copy, size, JSON_REJECT_DUPLICATES, NULL);
    if (whole)
        compare(text, whole);
    (void)walk_all(text, '{', NULL, &ended);
    (void)walk_all(text, '[', NULL, &ended);
    json_decref(json_walk_member(text, "topology"));
    json_decref(whole);
    free(copy);
    return 0;
}
