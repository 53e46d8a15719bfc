#include "harness/table/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS_MOST = 24, /* in a table, which for pairs is mostly half empty */
    SPLITS_MOST = 8
};

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

/* How many values a part of the keys has; GRID_COLUMNS + 1 where they are too many. */
static size_t count_values(struct grid *grid, const char *part)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t i = 0; i < grid->n; i++)
        if (key_get(key_shown(grid->row[i], key), part, value) &&
            place_of(grid->column, &n, GRID_COLUMNS, value) == GRID_COLUMNS)
            return GRID_COLUMNS + 1;
    return n;
}

/* Columns are the part with the most values, and of equals the last: rows vary in the others. */
static void choose_columns(struct grid *grid)
{
    char key[VALUE_KEY_MAX], name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t most = 0;
    (void)key_shown(grid->row[0], key);
    for (unsigned part = 0; key_part(key, part, name, value); part++) {
        size_t n = count_values(grid, name);
        if (n >= most)
            memcpy(grid->across, name, sizeof(name));
        most = n > most ? n : most;
    }
}

bool grid_is_pair(const struct row *row)
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
static void sort_columns(struct grid *grid)
{
    for (size_t i = 0; i < grid->ncolumns; i++) {
        char *end;
        (void)strtod(grid->column[i], &end);
        if (*end || end == grid->column[i])
            return;
    }
    qsort(grid->column, grid->ncolumns, sizeof(grid->column[0]), compare_columns);
}

/* Fills columns and lines; without room for all of them there is no table. */
static void lay_out(struct grid *grid)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    choose_columns(grid);
    if (grid_is_pair(grid->row[0]) && grid->n > PAIRS_MOST)
        grid->across[0] = '\0';
    for (size_t i = 0; i < grid->n && grid->across[0]; i++) {
        (void)key_shown(grid->row[i], key);
        bool has = key_get(key, grid->across, value);
        key_drop(key, grid->across);
        if (!has || place_of(grid->column, &grid->ncolumns, GRID_COLUMNS, value) == GRID_COLUMNS ||
            place_of(grid->line, &grid->nlines, GRID_LINES, key) == GRID_LINES)
            grid->across[0] = '\0';
    }
    sort_columns(grid);
}

double grid_value(const struct grid *grid, size_t line, size_t column)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    for (size_t i = 0; i < grid->n; i++) {
        (void)key_shown(grid->row[i], key);
        if (strcmp(key_get(key, grid->across, value), grid->column[column]) != 0)
            continue;
        key_drop(key, grid->across);
        if (strcmp(key, grid->line[line]) == 0)
            return grid->row[i]->median;
    }
    return NAN;
}

static struct grid *new_grid(const struct bench_metric *metric, size_t room)
{
    struct grid *grid = calloc(1, sizeof(*grid));
    if (!grid)
        return NULL;
    grid->metric = metric;
    grid->row = calloc(room + 1, sizeof(const struct row *));
    if (grid->row)
        return grid;
    free(grid);
    return NULL;
}

static const struct row *next_shown(const struct rows *rows, const struct arm *arm,
                                    const struct bench_metric *metric, size_t *at)
{
    const struct row *row = key_next_row(rows, arm, metric->name, at);
    while (row && metric->only_held && row->max <= 0)
        row = key_next_row(rows, arm, metric->name, at);
    return row;
}

struct grid *grid_make(const struct rows *rows, const struct arm *arm,
                       const struct bench_metric *metric)
{
    size_t at = 0, n = 0;
    while (next_shown(rows, arm, metric, &at))
        n++;
    struct grid *grid = new_grid(metric, n);
    if (!grid)
        return NULL;
    at = 0;
    while (grid->n < n)
        grid->row[grid->n++] = next_shown(rows, arm, metric, &at);
    if (n > 1)
        lay_out(grid);
    return grid;
}

/* "" where the row's key has no such part. */
static char *part_of(const struct row *row, const char *part, char value[static VALUE_KEY_MAX])
{
    char key[VALUE_KEY_MAX];
    if (!key_get(key_shown(row, key), part, value))
        value[0] = '\0';
    return value;
}

struct grid *grid_take(const struct grid *whole, const char *part, const char *value)
{
    char its[VALUE_KEY_MAX];
    struct grid *some = new_grid(whole->metric, whole->n);
    for (size_t i = 0; i < whole->n && some; i++)
        if (strcmp(part_of(whole->row[i], part, its), value) == 0)
            some->row[some->n++] = whole->row[i];
    if (some && some->n > 1)
        lay_out(some);
    return some;
}

void grid_free(struct grid *grid)
{
    if (grid)
        free(grid->row);
    free(grid);
}

bool grid_split_value(const struct grid *grid, const char *part, size_t i,
                      char value[static VALUE_KEY_MAX])
{
    char list[SPLITS_MOST + 1][VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t k = 0; k < grid->n; k++)
        (void)place_of(list, &n, SPLITS_MOST + 1, part_of(grid->row[k], part, value));
    if (i >= n)
        return false;
    memcpy(value, list[i], VALUE_KEY_MAX);
    return true;
}

/* How many values a part has where every key has it; else 0. */
static size_t count_splits(const struct grid *grid, const char *part)
{
    char value[VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t i = 0; i < grid->n; i++)
        if (!part_of(grid->row[i], part, value)[0])
            return 0;
    while (grid_split_value(grid, part, n, value))
        n++;
    return n;
}

/* Keys of other kinds are told apart by what comes first in them; of one kind, few tables do. */
bool grid_find_split(const struct grid *grid, char part[static VALUE_KEY_MAX])
{
    char key[VALUE_KEY_MAX], name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t least = SPLITS_MOST + 1;
    bool mixed = false;
    if (grid->n < 2 || grid->across[0] || grid_is_pair(grid->row[0]))
        return false;
    (void)key_shown(grid->row[0], key);
    for (unsigned i = 0; key_part(key, i, name, value); i++)
        mixed = mixed || count_splits(grid, name) == 0;
    for (unsigned i = 0; key_part(key, i, name, value); i++) {
        size_t n = count_splits(grid, name);
        if (n < 2 || n >= least)
            continue;
        memcpy(part, name, sizeof(name));
        least = mixed ? 0 : n;
    }
    return least <= SPLITS_MOST;
}
