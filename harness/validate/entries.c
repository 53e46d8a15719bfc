#include "harness/validate/entries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/record/json_walk.h"

enum { NAME_MOST = 150, FILE_MOST = 64 << 20 };

int entries_refuse(const struct entries *entries, const char *fmt, ...)
{
    char what[200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(entries->err, -EINVAL, "%.*s line %u: %s", NAME_MOST, entries->path,
                   entries->line, text_one_line(what));
}

int entries_open(struct entries *entries, struct err *err)
{
    json_error_t error;
    entries->err = err;
    entries->line = 1;
    char *real = realpath(entries->path, NULL); /* a link, for example in a Kubernetes volume */
    int rc = real ? file_read(AT_FDCWD, real, FILE_MOST, &entries->text, &entries->size) : -errno;
    free(real);
    if (rc)
        return err_sys(err, rc, "cannot read the %s '%.*s'", entries->what, NAME_MOST,
                       entries->path);
    entries->whole = json_loadb(entries->text, entries->size, JSON_REJECT_DUPLICATES, &error);
    entries->line = entries->whole ? 1 : (unsigned)error.line;
    if (!entries->whole)
        return entries_refuse(entries, "%s", error.text);
    (void)json_value_one_line(entries->whole);
    return 0;
}

void entries_close(struct entries *entries)
{
    json_decref(entries->whole);
    free(entries->text);
}

int entries_unpack(const struct entries *entries, json_t *entry, const char *fmt, ...)
{
    json_error_t error;
    va_list args;
    va_start(args, fmt);
    int rc = json_vunpack_ex(entry, &error, 0, fmt, args);
    va_end(args);
    return rc ? entries_refuse(entries, "%s", error.text) : 0;
}

/* The text of the array, to count its lines. The array exists, because the file was parsed. */
static struct json_piece find_array(const struct entries *entries, const char *name)
{
    const struct json_piece whole = {entries->text, entries->size};
    struct json_walk walk;
    struct json_piece member, value;
    if (!name || json_walk_open(&walk, whole, '{'))
        return whole;
    while (json_walk_next(&walk, &member, &value) == 1)
        if (member.length == strlen(name) && memcmp(member.at, name, member.length) == 0)
            return value;
    return whole;
}

int entries_read(struct entries *entries, const char *name,
                 int (*take)(struct entries *entries, json_t *entry))
{
    struct json_walk walk;
    struct json_piece unnamed, piece;
    const json_t *array = name ? json_object_get(entries->whole, name) : entries->whole;
    const char *counted = entries->text; /* `line` is the line of this position */
    int rc = 0;
    entries->line = 1;
    if (!array && name)
        return 0;
    if (!json_is_array(array) || json_walk_open(&walk, find_array(entries, name), '['))
        return err_set(entries->err, -EINVAL, "%.*s: %s is no array", NAME_MOST, entries->path,
                       name ? name : "it");
    for (size_t i = 0; !rc && json_walk_next(&walk, &unnamed, &piece) == 1; i++) {
        for (; counted < piece.at; counted++)
            entries->line += *counted == '\n';
        rc = take(entries, json_array_get(array, i));
    }
    return rc;
}
