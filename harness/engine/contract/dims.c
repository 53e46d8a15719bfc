#include "harness/engine/contract/dims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/contract/bench.h"
#include "harness/lib/text.h"

static const struct bench_dim *declared(const struct bench *bench, unsigned dim)
{
    static const struct bench_dim none = {.name = ""};
    return dim && bench && bench->dims ? &bench->dims[dim] : &none;
}

unsigned dim_find(const struct bench *bench, const char *name)
{
    for (unsigned dim = 1; name && bench && bench->dims && bench->dims[dim].name; dim++)
        if (strcmp(bench->dims[dim].name, name) == 0)
            return dim;
    return 0;
}

unsigned dim_find_kind(const struct bench *bench, enum dim_kind kind)
{
    for (unsigned dim = 1; bench->dims && bench->dims[dim].name; dim++)
        if (bench->dims[dim].kind == kind)
            return dim;
    return 0;
}

const char *dim_name(const struct bench *bench, unsigned dim)
{
    return declared(bench, dim)->name;
}

enum dim_kind dim_kind(const struct bench *bench, unsigned dim)
{
    return declared(bench, dim)->kind;
}

/* The text of a part; NULL if the part is a number. */
static const char *text_of(const struct dims *at, unsigned part)
{
    return at->text_at[part] ? at->text + at->text_at[part] - 1 : NULL;
}

/* Index of the part along `dim`; at->n = none. */
static unsigned find(const struct dims *at, unsigned dim)
{
    unsigned part = 0;
    while (part < at->n && at->of[part].dim != dim)
        part++;
    return part;
}

bool dims_has(const struct dims *at, unsigned dim)
{
    return find(at, dim) < at->n;
}

double dims_number(const struct bench *bench, const struct dims *at, unsigned dim)
{
    unsigned part = find(at, dim);
    const char *text = part < at->n ? text_of(at, part) : "";
    if (!text)
        return declared(bench, dim)->labels ? (double)NAN : at->of[part].at;
    char *end;
    double number = strtod(text, &end);
    return *end || end == text ? (double)NAN : number;
}

int dims_ordinal(const struct bench *bench, const struct dims *at, unsigned dim)
{
    double number = dims_number(bench, at, dim);
    return number >= 0 && number < 1e6 && number == floor(number) ? (int)number : -1;
}

struct dims dims_with(struct dims at, unsigned dim, double value)
{
    if (at.n < DIMS_MAX)
        at.of[at.n++] = (struct dim_value){dim, value};
    return at;
}

struct dims dims_with_text(struct dims at, unsigned dim, const char *text)
{
    size_t room = DIMS_KEY_MAX - (size_t)at.used, length = strlen(text);
    if (at.n == DIMS_MAX || !room)
        return at;
    (void)snprintf(at.text + at.used, room, "%s", text);
    at.text_at[at.n] = (uint8_t)(at.used + 1);
    at.of[at.n++] = (struct dim_value){dim, 0};
    at.used = (uint8_t)(at.used + (length < room ? length + 1 : room));
    return at;
}

static void take_part(struct dims *to, const struct dims *from, unsigned part)
{
    const char *text = text_of(from, part);
    *to = text ? dims_with_text(*to, from->of[part].dim, text)
               : dims_with(*to, from->of[part].dim, from->of[part].at);
}

void dims_take(struct dims *to, const struct dims *from, unsigned dim)
{
    for (unsigned part = 0; part < from->n; part++)
        if (from->of[part].dim == dim)
            take_part(to, from, part);
}

struct dims dims_without(const struct dims *at, unsigned dim)
{
    struct dims rest = {.n = 0};
    for (unsigned part = 0; part < at->n; part++)
        if (at->of[part].dim != dim)
            take_part(&rest, at, part);
    return rest;
}

struct dims dims_only(const struct dims *at, unsigned dim)
{
    struct dims only = {.n = 0};
    dims_take(&only, at, dim);
    return only;
}

static int compare_values(const struct dims *a, unsigned in_a, const struct dims *b, unsigned in_b)
{
    const char *x = text_of(a, in_a), *y = text_of(b, in_b);
    if (x && y)
        return strcmp(x, y);
    if (x || y)
        return x ? 1 : -1;
    return (a->of[in_a].at > b->of[in_b].at) - (a->of[in_a].at < b->of[in_b].at);
}

int dims_compare(const struct dims *a, const struct dims *b)
{
    int order = (a->n > b->n) - (a->n < b->n);
    for (unsigned part = 0; part < a->n && !order; part++) {
        order = (a->of[part].dim > b->of[part].dim) - (a->of[part].dim < b->of[part].dim);
        order = order ? order : compare_values(a, part, b, part);
    }
    return order;
}

bool dims_agree(const struct dims *at, const struct dims *pattern)
{
    for (unsigned i = 0; pattern && i < pattern->n; i++) {
        unsigned part = find(at, pattern->of[i].dim);
        if (part < at->n && compare_values(at, part, pattern, i) != 0)
            return false;
    }
    return true;
}

static const char *put_value(const struct bench_dim *dim, double at)
{
    if (dim->labels)
        return str_fmt("%s", dim->labels[(unsigned)at]);
    if (at == floor(at) && fabs(at) < 1e15)
        return str_fmt("%0*lld", (int)dim->digits, (long long)at);
    return str_fmt("%g", at);
}

void dims_part(const struct bench *bench, const struct dims *at, unsigned part,
               char name[static DIMS_KEY_MAX], char value[static DIMS_KEY_MAX])
{
    const struct bench_dim *dim = declared(bench, at->of[part].dim);
    const char *text = text_of(at, part);
    size_t split = text && !at->of[part].dim ? strcspn(text, "=") : 0;
    (void)snprintf(name, DIMS_KEY_MAX, "%.*s%s", (int)split, text ? text : "", dim->name);
    if (text)
        (void)snprintf(value, DIMS_KEY_MAX, "%s", text + split + (split && text[split]));
    else
        (void)snprintf(value, DIMS_KEY_MAX, "%s", put_value(dim, at->of[part].at));
}

bool dims_has_name(const struct bench *bench, const struct dims *at, const char *name)
{
    char own[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    for (unsigned part = 0; part < at->n; part++) {
        dims_part(bench, at, part, own, value);
        if (strcmp(own, name) == 0)
            return true;
    }
    return false;
}

const char *dims_value(const struct bench *bench, const struct dims *at, unsigned dim)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    unsigned part = find(at, dim);
    if (part == at->n)
        return "";
    dims_part(bench, at, part, name, value);
    return str_fmt("%s", value);
}

const char *dims_format_part(const struct bench *bench, const struct dims *at, unsigned part)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    const struct bench_dim *dim = declared(bench, at->of[part].dim);
    double number = at->of[part].at;
    const char *label = NULL;
    dims_part(bench, at, part, name, value);
    if (!text_of(at, part))
        label = dim->labels_long ? dim->labels_long[(unsigned)number]
                : dim->special.text && number == dim->special.at ? dim->special.text
                                                                 : NULL;
    if (label)
        return str_fmt("%s", label);
    return str_fmt("%s %s", dim->unit ? value : name, dim->unit ? dim->unit : value);
}

const char *dims_format(const struct bench *bench, const struct dims *at)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    const char *key = "";
    for (unsigned part = 0; part < at->n; part++) {
        const char *text = at->of[part].dim ? NULL : text_of(at, part);
        dims_part(bench, at, part, name, value);
        str_add(&key, ";", text ? "%s" : "%s=%s", text ? text : name, value);
    }
    return key;
}

/* Stores a label's index, or a number that put_value writes exactly as `text`; else the text. */
static struct dims parse_value(const struct bench *bench, struct dims at, unsigned dim,
                               const char *text)
{
    const struct bench_dim *of = declared(bench, dim);
    char *end;
    for (unsigned i = 0; of->labels && of->labels[i]; i++)
        if (strcmp(of->labels[i], text) == 0)
            return dims_with(at, dim, i);
    double number = of->labels ? (double)NAN : strtod(text, &end);
    if (isfinite(number) && strcmp(put_value(of, number), text) == 0)
        return dims_with(at, dim, number);
    return dims_with_text(at, dim, text);
}

struct dims dims_parse(const struct bench *bench, const char *key)
{
    struct dims at = {.n = 0};
    const struct str_mark before = str_mark(); /* a file may have a million keys */
    while (*key) {
        /* The last part takes all of the rest. */
        size_t length = at.n == DIMS_MAX - 1 ? strlen(key) : strcspn(key, ";");
        char *part = str_fmt("%.*s", (int)length, key), *value = strchr(part, '=');
        bool whole = value && !strchr(part, ';');
        if (whole)
            *value = '\0';
        unsigned dim = whole ? dim_find(bench, part) : 0;
        if (whole && !dim)
            *value = '=';
        at = dim ? parse_value(bench, at, dim, value + 1) : dims_with_text(at, 0, part);
        key += length + (key[length] == ';');
        str_release(before);
    }
    return at;
}
