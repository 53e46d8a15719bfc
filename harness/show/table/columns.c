#include "harness/show/table/columns.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/rows/number.h"

static int wider(int width, const char *text)
{
    int own = (int)strlen(text);
    return own > width ? own : width;
}

int columns_cell_least(const struct grid *grid)
{
    char text[DIMS_KEY_MAX];
    int widest = COLUMNS_CELL_LEAST - 1;
    for (size_t column = 0; column < grid->ncolumns; column++) {
        widest = wider(widest, grid_column(grid, column, text, sizeof(text)));
        for (size_t line = 0; line < grid->nlines; line++)
            widest = wider(widest, grid_format(grid, line, column, text, sizeof(text)));
    }
    return widest + 1;
}

int columns_cell(const struct grid *grid, int room)
{
    int least = columns_cell_least(grid), share = room / (int)grid->ncolumns;
    if (share >= least && share < COLUMNS_CELL)
        return share;
    return least > COLUMNS_CELL ? least : COLUMNS_CELL;
}

bool columns_stand_alone(const struct grid *grid)
{
    bool alone = dim_kind(grid->row[0]->arm->bench, grid->across) > DIM_PAIR;
    for (size_t column = 0; column < grid->ncolumns; column++)
        alone = alone || isnan(grid_number(grid, column));
    return alone;
}

/* NAN where there is none. */
static double value_at(const struct grid *grid, size_t line, size_t column)
{
    const struct row *row = grid_at(grid, line, column);
    return row ? row->median : (double)NAN;
}

/* The first column of a line that is no worse than the best by more than 1% of the largest: the
 * others are as good. SIZE_MAX: the metric has no better, or the line no value. */
static size_t find_best(const struct grid *grid, size_t line)
{
    double sign = strcmp(grid->metric->better, "higher") == 0  ? 1
                  : strcmp(grid->metric->better, "lower") == 0 ? -1
                                                               : 0;
    double best = -INFINITY, largest = 0;
    for (size_t column = 0; column < grid->ncolumns && sign != 0; column++) {
        double value = value_at(grid, line, column);
        best = fmax(best, sign * value);
        largest = fmax(largest, fabs(value));
    }
    for (size_t column = 0; column < grid->ncolumns; column++)
        if (sign != 0 && sign * value_at(grid, line, column) >= best - 0.01 * largest)
            return column;
    return SIZE_MAX;
}

/* The least and the most of what a line shows in any case: its ends and its best. */
static void find_bounds(const struct grid *grid, size_t line, double *least, double *most)
{
    const size_t best = find_best(grid, line), last = grid->ncolumns - 1;
    const size_t sure[] = {0, last, best == SIZE_MAX ? last : best};
    *least = INFINITY;
    *most = 0;
    for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++) {
        *least = fmin(*least, value_at(grid, line, sure[i]));
        *most = fmax(*most, value_at(grid, line, sure[i]));
    }
}

/* The column of the value that lies furthest outside of what its line shows in any case: by twice,
 * and so much of the largest that it is no noise of differences near 0. SIZE_MAX: no column has
 * one.
 */
static size_t find_cliff(const struct grid *grid)
{
    double furthest = 2, widest = 0;
    size_t cliff = SIZE_MAX;
    for (size_t line = 0; line < grid->nlines; line++) {
        double least, most, largest = 0;
        find_bounds(grid, line, &least, &most);
        for (size_t column = 0; column < grid->ncolumns; column++)
            largest = fmax(largest, value_at(grid, line, column));
        for (size_t column = 0; column < grid->ncolumns; column++) {
            double value = value_at(grid, line, column), far = fmax(least / value, value / most);
            double out = fmax(least - value, value - most);
            bool further = far > furthest || (far >= furthest && out > widest);
            if (value > 0 && out > 0.03 * largest && further) {
                furthest = far;
                widest = out;
                cliff = column;
            }
        }
    }
    return cliff;
}

static bool is_wanted(const struct grid *grid, size_t column, const struct columns_wanted *wanted)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (dims_compare(&grid->column[column], &wanted->of[i]) == 0)
            return true;
    return false;
}

static void want(const struct grid *grid, size_t column, struct columns_wanted *wanted)
{
    if (wanted->n < COLUMNS_WANTED && !is_wanted(grid, column, wanted))
        wanted->of[wanted->n++] = grid->column[column];
}

void columns_want(const struct grid *grid, size_t most, struct columns_wanted *wanted)
{
    if (columns_stand_alone(grid) || grid->ncolumns <= most)
        return;
    size_t cliff = find_cliff(grid);
    if (cliff != SIZE_MAX)
        want(grid, cliff, wanted);
    for (size_t line = 0; line < grid->nlines; line++) {
        size_t best = find_best(grid, line);
        if (best != SIZE_MAX)
            want(grid, best, wanted);
    }
}

/* Shows that column in place of the nearest one that may give way. */
static void insist(struct columns *shown, bool fixed[static GRID_COLUMNS], size_t column)
{
    size_t nearest = SIZE_MAX, least = SIZE_MAX;
    for (size_t i = 0; i < shown->n; i++) {
        size_t at = shown->at[i], far = at > column ? at - column : column - at;
        if (far < least && (!fixed[i] || far == 0)) {
            least = far;
            nearest = i;
        }
    }
    if (nearest == SIZE_MAX)
        return;
    shown->at[nearest] = column;
    fixed[nearest] = true;
}

static int compare_places(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Full blocks for all that must be shown; no more columns than there are. */
static size_t count_shown(const struct grid *grid, size_t block,
                          const struct columns_wanted *wanted)
{
    size_t last = grid->ncolumns - 1, must = 0;
    if (columns_stand_alone(grid) || wanted->n == COLUMNS_WANTED)
        return grid->ncolumns;
    for (size_t column = 0; column <= last; column++)
        must += column == 0 || column == last || is_wanted(grid, column, wanted);
    size_t n = (must + block - 1) / block * block;
    return n < grid->ncolumns ? n : grid->ncolumns;
}

void columns_choose(const struct grid *grid, size_t block, const struct columns_wanted *wanted,
                    struct columns *shown)
{
    bool fixed[GRID_COLUMNS] = {true};
    size_t last = grid->ncolumns - 1;
    shown->n = count_shown(grid, block, wanted);
    size_t gaps = shown->n - 1;
    for (size_t i = 0; i < shown->n; i++)
        shown->at[i] = gaps ? (i * last + gaps / 2) / gaps : 0;
    fixed[gaps] = true;
    for (size_t column = 0; column < grid->ncolumns; column++)
        if (is_wanted(grid, column, wanted))
            insist(shown, fixed, column);
    qsort(shown->at, shown->n, sizeof(shown->at[0]), compare_places);
}
