/*
 * Which columns of a grid stand in a terminal's width. Names, and numbers of GPUs, ranks and nodes,
 * all do, in as many blocks as they need: none stands for another. Of a sweep too long for one
 * block some are left out, which the caller says: never the best of a line, nor the grid's cliff,
 * the value furthest outside of its line's ends and best. Where these are more than one block
 * holds, there are several.
 */
#ifndef CONTEND_SHOW_TABLE_COLUMNS_H
#define CONTEND_SHOW_TABLE_COLUMNS_H

#include <stdbool.h>

#include "harness/rows/grid.h"

enum {
    COLUMNS_CELL = 8,       /* usual width of one */
    COLUMNS_CELL_LEAST = 6, /* of those that fit into the width so */
    COLUMNS_WANTED = GRID_COLUMNS
};

/* Their places in the grid, ascending. */
struct columns {
    size_t n, at[GRID_COLUMNS];
};

/* Columns that tables of a block must show, so that those of the same sweep show the same. Where
 * there is no room for more of them, all tables show all. */
struct columns_wanted {
    size_t n;
    struct dims of[COLUMNS_WANTED];
};

/* The least width of each: a blank and the widest of their texts. */
int columns_cell_least(const struct grid *grid);

/* Width of each in `room` characters: wider where their texts need it, narrower where all fit so.
 */
int columns_cell(const struct grid *grid, int room);

/* None of them may be left out. */
bool columns_stand_alone(const struct grid *grid);

/* Adds the grid's best columns and its cliff, where `most` columns have room. */
void columns_want(const struct grid *grid, size_t most, struct columns_wanted *wanted);

/*
 * All that stand alone; else the first, the last and those that are wanted, with others evenly
 * chosen, so many as fill blocks of `block` columns.
 */
void columns_choose(const struct grid *grid, size_t block, const struct columns_wanted *wanted,
                    struct columns *shown);

#endif
