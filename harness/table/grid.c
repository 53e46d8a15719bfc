#include "harness/table/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS_MOST = 24, /* in a table, which for pairs is mostly half empty */
    SPLITS_MOST = 8
};

/* The key as the table is made of it: loads alone have no kind of stores, and stand with plain. */
static char *table_key(const struct row *row, char key[static VALUE_KEY_MAX])
{
    static const char none[] = "stores=none";
    char rest[VALUE_KEY_MAX], *at = strstr(key_copy(row, key), none);
    if (!at)
        return key;
    (void)snprintf(rest, sizeof(rest), "%s", at + strlen(none));
    (void)snprintf(at, VALUE_KEY_MAX - (size_t)(at - key), "stores=plain%s", rest);
    return key;
}

/* The place of a text in a list, added where it is new; `most` when there is no room. */
static size_t place_of(char (*list)[VALUE_KEY_MAX], size_t *n, size_t most, const char *text)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(list[i], text) == 0)
            return i;
    if (*n == most)
        return most;
    (void)snprintf(list[*n], VALUE_KEY_MAX, "%s", text);
    return (*n)++;
}

/* How many values a part of the keys has; FAMILY_COLUMNS + 1 where they are too many. */
static size_t count_values(struct family *family, const char *part)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t i = 0; i < family->n; i++)
        if (key_get(table_key(family->row[i], key), part, value) &&
            place_of(family->column, &n, FAMILY_COLUMNS, value) == FAMILY_COLUMNS)
            return FAMILY_COLUMNS + 1;
    return n;
}

/* Columns are the part with the most values, and of equals the last: rows vary in the others. */
static void choose_columns(struct family *family)
{
    char key[VALUE_KEY_MAX], name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t most = 0;
    (void)table_key(family->row[0], key);
    for (unsigned part = 0; key_part(key, part, name, value); part++) {
        size_t n = count_values(family, name);
        if (n >= most)
            memcpy(family->across, name, sizeof(name));
        most = n > most ? n : most;
    }
}

bool family_is_pair(const struct row *row)
{
    char key[VALUE_KEY_MAX];
    return key_number(key_copy(row, key), "a") >= 0 && key_number(key, "b") >= 0;
}

static int compare_columns(const void *a, const void *b)
{
    double x = strtod(a, NULL), y = strtod(b, NULL);
    return (x > y) - (x < y);
}

/* Numbers ascend, also where the first row lacks some; names stay as they came. */
static void sort_columns(struct family *family)
{
    for (size_t i = 0; i < family->ncolumns; i++) {
        char *end;
        (void)strtod(family->column[i], &end);
        if (*end || end == family->column[i])
            return;
    }
    qsort(family->column, family->ncolumns, sizeof(family->column[0]), compare_columns);
}

/* Fills columns and lines; without room for all of them there is no table. */
static void lay_out(struct family *family)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    choose_columns(family);
    if (family_is_pair(family->row[0]) && family->n > PAIRS_MOST)
        family->across[0] = '\0';
    for (size_t i = 0; i < family->n && family->across[0]; i++) {
        (void)table_key(family->row[i], key);
        bool has = key_get(key, family->across, value);
        key_drop(key, family->across);
        if (!has ||
            place_of(family->column, &family->ncolumns, FAMILY_COLUMNS, value) == FAMILY_COLUMNS ||
            place_of(family->line, &family->nlines, FAMILY_LINES, key) == FAMILY_LINES)
            family->across[0] = '\0';
    }
    sort_columns(family);
}

double family_value(const struct family *family, size_t line, size_t column)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    for (size_t i = 0; i < family->n; i++) {
        (void)table_key(family->row[i], key);
        if (strcmp(key_get(key, family->across, value), family->column[column]) != 0)
            continue;
        key_drop(key, family->across);
        if (strcmp(key, family->line[line]) == 0)
            return family->row[i]->median;
    }
    return NAN;
}

static struct family *new_family(const struct bench_metric *metric, size_t room)
{
    struct family *family = calloc(1, sizeof(*family));
    if (!family)
        return NULL;
    family->metric = metric;
    family->row = calloc(room + 1, sizeof(const struct row *));
    if (family->row)
        return family;
    free(family);
    return NULL;
}

/* Reasons to throttle that never held are in rows.csv: zeros would bury the one that did. */
static const struct row *next_shown(const struct rows *rows, const struct arm *arm,
                                    const char *metric, size_t *at)
{
    bool is_reason = strcmp(metric, "gpu_throttle") == 0;
    const struct row *row = key_next_row(rows, arm, metric, at);
    while (row && is_reason && row->max <= 0)
        row = key_next_row(rows, arm, metric, at);
    return row;
}

struct family *family_make(const struct rows *rows, const struct arm *arm,
                           const struct bench_metric *metric)
{
    size_t at = 0, n = 0;
    while (next_shown(rows, arm, metric->name, &at))
        n++;
    struct family *family = new_family(metric, n);
    if (!family)
        return NULL;
    at = 0;
    while (family->n < n)
        family->row[family->n++] = next_shown(rows, arm, metric->name, &at);
    if (n > 1)
        lay_out(family);
    return family;
}

/* "" where the row's key has no such part. */
static char *part_of(const struct row *row, const char *part, char value[static VALUE_KEY_MAX])
{
    char key[VALUE_KEY_MAX];
    if (!key_get(table_key(row, key), part, value))
        value[0] = '\0';
    return value;
}

struct family *family_take(const struct family *whole, const char *part, const char *value)
{
    char its[VALUE_KEY_MAX];
    struct family *some = new_family(whole->metric, whole->n);
    for (size_t i = 0; i < whole->n && some; i++)
        if (strcmp(part_of(whole->row[i], part, its), value) == 0)
            some->row[some->n++] = whole->row[i];
    if (some && some->n > 1)
        lay_out(some);
    return some;
}

void family_free(struct family *family)
{
    if (family)
        free(family->row);
    free(family);
}

bool family_split_value(const struct family *family, const char *part, size_t i,
                        char value[static VALUE_KEY_MAX])
{
    char list[SPLITS_MOST + 1][VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t k = 0; k < family->n; k++)
        (void)place_of(list, &n, SPLITS_MOST + 1, part_of(family->row[k], part, value));
    if (i >= n)
        return false;
    memcpy(value, list[i], VALUE_KEY_MAX);
    return true;
}

/* How many values a part has where every key has it; else 0. */
static size_t count_splits(const struct family *family, const char *part)
{
    char value[VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t i = 0; i < family->n; i++)
        if (!part_of(family->row[i], part, value)[0])
            return 0;
    while (family_split_value(family, part, n, value))
        n++;
    return n;
}

/* Keys of other kinds are told apart by what comes first in them; of one kind, few tables do. */
bool family_find_split(const struct family *family, char part[static VALUE_KEY_MAX])
{
    char key[VALUE_KEY_MAX], name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t least = SPLITS_MOST + 1;
    bool mixed = false;
    if (family->n < 2 || family->across[0] || family_is_pair(family->row[0]))
        return false;
    (void)table_key(family->row[0], key);
    for (unsigned i = 0; key_part(key, i, name, value); i++)
        mixed = mixed || count_splits(family, name) == 0;
    for (unsigned i = 0; key_part(key, i, name, value); i++) {
        size_t n = count_splits(family, name);
        if (n < 2 || n >= least)
            continue;
        memcpy(part, name, sizeof(name));
        least = mixed ? 0 : n;
    }
    return least <= SPLITS_MOST;
}
