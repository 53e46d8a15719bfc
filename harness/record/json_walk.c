#include "harness/record/json_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static void skip_space(struct json_walk *walk)
{
    while (walk->at < walk->end && (*walk->at == ' ' || *walk->at == '\n' || *walk->at == '\r' ||
                                    *walk->at == '\t' || *walk->at == ','))
        walk->at++;
}

/* The position after the string that begins at `at`; `end` if the string is cut off. */
static const char *end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

static bool is_one_of(char c, const char *all)
{
    return c && strchr(all, c);
}

/* The position after the value that begins at `at`. */
static const char *end_of_value(const char *at, const char *end)
{
    size_t depth = 0;
    if (at < end && *at == '"')
        return end_of_string(at, end);
    while (at < end) {
        if (depth == 0 && is_one_of(*at, ",]} \n\r\t"))
            return at;
        if (*at == '"') {
            at = end_of_string(at, end);
            continue;
        }
        depth += is_one_of(*at, "{[");
        depth -= is_one_of(*at, "}]");
        at++;
        if (depth == 0 && is_one_of(at[-1], "}]"))
            return at;
    }
    return at;
}

int json_walk_open(struct json_walk *walk, struct json_piece text, char open)
{
    *walk = (struct json_walk){text.at, text.at + text.length, open};
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != open)
        return -EINVAL;
    walk->at++;
    return 0;
}

static int take_name(struct json_walk *walk, struct json_piece *name)
{
    if (*walk->at != '"')
        return -EINVAL;
    const char *after = end_of_string(walk->at, walk->end);
    if (after - walk->at < 2)
        return -EINVAL;
    *name = (struct json_piece){walk->at + 1, (size_t)(after - walk->at) - 2};
    walk->at = after;
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != ':')
        return -EINVAL;
    walk->at++;
    skip_space(walk);
    return 0;
}

int json_walk_next(struct json_walk *walk, struct json_piece *name, struct json_piece *value)
{
    *name = (struct json_piece){walk->at, 0};
    skip_space(walk);
    if (walk->at == walk->end)
        return -EINVAL;
    if (*walk->at == (walk->open == '{' ? '}' : ']'))
        return 0;
    if (walk->open == '{' && take_name(walk, name))
        return -EINVAL;
    const char *after = end_of_value(walk->at, walk->end);
    if (after == walk->at || after == walk->end)
        return -EINVAL;
    *value = (struct json_piece){walk->at, (size_t)(after - walk->at)};
    walk->at = after;
    return 1;
}

json_t *json_walk_member(struct json_piece object, const char *name)
{
    struct json_walk walk;
    struct json_piece of, value;
    if (json_walk_open(&walk, object, '{'))
        return NULL;
    while (json_walk_next(&walk, &of, &value) == 1)
        if (of.length == strlen(name) && memcmp(of.at, name, of.length) == 0)
            return json_loadb(value.at, value.length, JSON_DECODE_ANY, NULL);
    return NULL;
}
