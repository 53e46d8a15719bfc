#include "harness/validate/files/waivers.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/lib/files/file.h"
#include "harness/store/files/json_walk.h"
#include "harness/validate/rules/rules.h"

enum { FILE_MOST = 1 << 20 };

struct reader {
    const char *path;
    struct waivers *waivers;
    unsigned line; /* of the entry */
    struct err *err;
};

static bool is_date(const char *text)
{
    int year, month, day, used = 0;
    return sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used == 10 &&
           !text[10] && text[4] == '-' && text[7] == '-' && month >= 1 && month <= 12 && day >= 1 &&
           day <= 31;
}

/* A field of an entry; "" where it is absent. False where it is no text, or too long. */
static bool get(const json_t *entry, const char *name, char *out, size_t size)
{
    const json_t *value = json_object_get(entry, name);
    out[0] = '\0';
    if (!value)
        return true;
    if (!json_is_string(value) || json_string_length(value) >= size)
        return false;
    (void)snprintf(out, size, "%s", json_string_value(value));
    (void)text_one_line(out);
    return true;
}

static int refuse(const struct reader *reader, const struct waiver *waiver, const char *what)
{
    return err_set(reader->err, -EINVAL, "%.100s:%u: the waiver of '%.31s' %s", reader->path,
                   waiver->line, waiver->rule[0] ? waiver->rule : "?", what);
}

static bool knows_all_fields(const json_t *entry)
{
    static const char *const names[] = {"rule", "unit", "reason", "until"};
    size_t known = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        known += json_object_get(entry, names[i]) != NULL;
    return known == json_object_size(entry);
}

static int read_entry(const struct reader *reader, const json_t *entry)
{
    struct waiver waiver = {.line = reader->line};
    if (!json_is_object(entry))
        return err_set(reader->err, -EINVAL, "%.100s:%u: this is no object", reader->path,
                       reader->line);
    if (!get(entry, "rule", waiver.rule, sizeof(waiver.rule)) ||
        !get(entry, "unit", waiver.unit, sizeof(waiver.unit)) ||
        !get(entry, "reason", waiver.reason, sizeof(waiver.reason)) ||
        !get(entry, "until", waiver.until, sizeof(waiver.until)))
        return refuse(reader, &waiver, "has a field that is no text, or too long a one");
    if (!knows_all_fields(entry))
        return refuse(reader, &waiver, "has a field that is not rule, unit, reason or until");
    if (!rule_find(waiver.rule))
        return refuse(reader, &waiver, "is for no rule: see 'contend validate --list'");
    if (!waiver.reason[strspn(waiver.reason, " ")])
        return refuse(reader, &waiver, "has no reason");
    if (!is_date(waiver.until))
        return refuse(reader, &waiver, "has no date 'until' such as \"2026-12-31\"");
    struct waivers *waivers = reader->waivers;
    struct waiver *added = array_add(waivers->all, waivers->n, waivers->capacity);
    if (!added)
        return err_set(reader->err, -ENOMEM, "no memory for the waivers");
    *added = waiver;
    return 0;
}

int waivers_read(const char *path, struct waivers *waivers, struct err *err)
{
    struct reader reader = {.path = path, .waivers = waivers, .line = 1, .err = err};
    struct json_walk walk;
    struct json_piece name, piece;
    json_error_t error;
    char *text = NULL;
    size_t size;
    *waivers = (struct waivers){0};
    int rc = file_read(AT_FDCWD, path, FILE_MOST, &text, &size);
    if (rc)
        return err_sys(err, rc, "cannot read the waivers %.150s", path);
    const char *counted = text;
    json_t *list = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!list)
        rc =
            err_set(err, -EINVAL, "%.100s:%d: %.120s", path, error.line, text_one_line(error.text));
    else if (!json_is_array(list))
        rc = err_set(err, -EINVAL, "%.150s: no array of waivers", path);
    if (!rc)
        rc = json_walk_open(&walk, (struct json_piece){text, size}, '[');
    for (size_t i = 0; !rc && json_walk_next(&walk, &name, &piece) == 1; i++) {
        for (; counted < piece.at; counted++)
            reader.line += *counted == '\n';
        rc = read_entry(&reader, json_array_get(list, i));
    }
    json_decref(list);
    free(text);
    return rc;
}

void waivers_free(struct waivers *waivers)
{
    free(waivers->all);
    *waivers = (struct waivers){0};
}
