#include "harness/rows/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/rows/number.h"

enum { PAIRS_MOST = 24 }; /* in a table, which for pairs is mostly half empty */

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

/* The values of a part where keys have it; most + 1 where they are more. */
static size_t list_values(const struct grid *grid, const char *part, char (*list)[VALUE_KEY_MAX],
                          size_t most)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t n = 0;
    for (size_t i = 0; i < grid->n; i++)
        if (key_get(key_shown(grid->row[i], key), part, value) &&
            place_of(list, &n, most, value) == most)
            return most + 1;
    return n;
}

size_t grid_values(const struct grid *grid, const char *part, char (*values)[VALUE_KEY_MAX])
{
    return list_values(grid, part, values, GRID_SPLITS);
}

/* Columns are the part with the most values, and of equals the last: rows vary in the others. */
static void choose_columns(struct grid *grid)
{
    char key[VALUE_KEY_MAX], name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t most = 0;
    (void)key_shown(grid->row[0], key);
    for (unsigned part = 0; key_part(key, part, name, value); part++) {
        size_t n = list_values(grid, name, grid->column, GRID_COLUMNS);
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
    if (grid->n < 2 || (grid_is_pair(grid->row[0]) && grid->n > PAIRS_MOST))
        return;
    choose_columns(grid);
    for (size_t i = 0; i < grid->n && grid->across[0]; i++) {
        bool has = key_get(key_shown(grid->row[i], key), grid->across, value);
        key_drop(key, grid->across);
        if (!has || place_of(grid->column, &grid->ncolumns, GRID_COLUMNS, value) == GRID_COLUMNS ||
            place_of(grid->line, &grid->nlines, GRID_LINES, key) == GRID_LINES)
            grid->across[0] = '\0';
    }
    sort_columns(grid);
}

char *grid_say(const struct grid *grid, const struct row *row, bool with_unit, char *buf,
               size_t size)
{
    char value[32], why[sizeof(row->reason)];
    bool doubted = row_doubt(row, grid->rounds, why, sizeof(why))[0] != '\0';
    const char *bound = number_bound(why);
    (void)number_format(row->median, grid->metric->unit, with_unit, value, sizeof(value));
    (void)snprintf(buf, size, "%s%s%s", bound, value, doubted && !bound[0] ? "~" : "");
    return buf;
}

const struct row *grid_at(const struct grid *grid, size_t line, size_t column)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    for (size_t i = 0; i < grid->n; i++) {
        (void)key_shown(grid->row[i], key);
        if (strcmp(key_get(key, grid->across, value), grid->column[column]) != 0)
            continue;
        key_drop(key, grid->across);
        if (strcmp(key, grid->line[line]) == 0)
            return grid->row[i];
    }
    return NULL;
}

const char *grid_format(const struct grid *grid, size_t line, size_t column, char *buf, size_t size)
{
    const struct row *row = grid_at(grid, line, column);
    if (!row)
        return "-";
    return grid_say(grid, row, false, buf, size);
}

static struct grid *new_grid(const struct bench_metric *metric, const struct arm_rounds *rounds,
                             size_t room)
{
    struct grid *grid = calloc(1, sizeof(*grid));
    if (!grid)
        return NULL;
    grid->metric = metric;
    grid->rounds = rounds;
    grid->row = calloc(room + 1, sizeof(const struct row *));
    if (grid->row)
        return grid;
    free(grid);
    return NULL;
}

struct grid *grid_make(const struct rows *rows, const struct arm *arm,
                       const struct arm_rounds *rounds, const struct bench_metric *metric)
{
    size_t at = 0;
    struct grid *grid = new_grid(metric, rounds, rows->n);
    if (!grid)
        return NULL;
    for (const struct row *row; (row = key_next_row(rows, arm, metric->name, &at));)
        if (!metric->only_held || row->max > 0)
            grid->row[grid->n++] = row;
    lay_out(grid);
    return grid;
}

struct grid *grid_take(const struct grid *whole, const char *part, const char *value)
{
    char key[VALUE_KEY_MAX], own[VALUE_KEY_MAX];
    struct grid *some = new_grid(whole->metric, whole->rounds, whole->n);
    if (!some)
        return NULL;
    for (size_t i = 0; i < whole->n; i++)
        if (key_get(key_shown(whole->row[i], key), part, own) && strcmp(own, value) == 0)
            some->row[some->n++] = whole->row[i];
    lay_out(some);
    return some;
}

void grid_free(struct grid *grid)
{
    if (grid)
        free(grid->row);
    free(grid);
}

static bool all_have(const struct grid *grid, const char *part)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    for (size_t i = 0; i < grid->n; i++)
        if (!key_get(key_shown(grid->row[i], key), part, value))
            return false;
    return true;
}

/* Keys of other kinds are told apart by what comes first in them; of one kind, few tables do. */
size_t grid_split(const struct grid *grid, char part[static VALUE_KEY_MAX],
                  char (*values)[VALUE_KEY_MAX])
{
    char key[VALUE_KEY_MAX], name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t least = GRID_SPLITS + 1;
    bool mixed = false;
    if (grid->n < 2 || grid->across[0] || grid_is_pair(grid->row[0]))
        return 0;
    (void)key_shown(grid->row[0], key);
    for (unsigned i = 0; key_part(key, i, name, value); i++)
        mixed = mixed || !all_have(grid, name);
    for (unsigned i = 0; key_part(key, i, name, value); i++) {
        size_t n = all_have(grid, name) ? grid_values(grid, name, values) : 0;
        if (n < 2 || n >= least)
            continue;
        memcpy(part, name, sizeof(name));
        least = mixed ? 0 : n;
    }
    return least <= GRID_SPLITS ? grid_values(grid, part, values) : 0;
}
