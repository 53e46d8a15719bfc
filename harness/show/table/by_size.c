#include "harness/show/table/by_size.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/rows/grid.h"
#include "harness/rows/number.h"

enum {
    SIDE_BY_SIDE = 5, /* sizes that fit beside the label of a line */
    METRICS_MOST = 64,
    GAP = 2,
    NUMBER = 6,                                             /* the least width of a column */
    LEFT = 9,                                               /* that of the sizes */
    COLUMNS_MOST = (TEXT_WIDTH - LEFT) / (NUMBER + GAP) + 1 /* one too many */
};

enum { HEAD_NAME, HEAD_WHICH, HEAD_UNIT, HEADS }; /* "time" over "p99" over "us" */

/* A line of a metric's grid, upright. */
struct column {
    const struct grid *grid;
    size_t line;
    char head[HEADS][DIMS_KEY_MAX];
    int width;
};

/* The table of a group: what stands at one place along a dimension. */
struct table {
    const struct result *result;
    const struct rows *rows;
    const struct arm *arm;
    const struct arm_rounds *rounds; /* of that arm */
    FILE *out;
    struct dims at;
    struct grid *grid[METRICS_MOST]; /* of the group, by metric; NULL = none; owned */
    struct column column[COLUMNS_MOST];
    size_t ncolumns;
    int left, width; /* of the sizes; of all */
    unsigned printed;
};

/* Without what the benchmark's name says: "latency" of collective_latency. */
static const char *short_name(const struct bench *bench, const char *metric)
{
    size_t length = strlen(bench->name);
    bool begins = strncmp(metric, bench->name, length) == 0 && metric[length] == '_';
    return begins ? metric + length + 1 : metric;
}

/* Where a line stands but for the group: "p99", "in p50", "rank 3". */
static void name_line(const struct table *table, const struct dims *at, char *buf, size_t size)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    buf[0] = '\0';
    for (unsigned part = 0; part < at->n; part++) {
        dims_part(table->arm->bench, at, part, name, value);
        bool number = isdigit((unsigned char)value[0]);
        if (at->of[part].dim != table->at.of[0].dim)
            text_append(buf, size, " ", "%s%s%s", number ? name : "", number ? " " : "", value);
    }
}

/* False where it is the one that does not fit. */
static bool add_column(struct table *table, const struct grid *grid, size_t line)
{
    struct column *column = &table->column[table->ncolumns++];
    *column = (struct column){.grid = grid, .line = line, .width = NUMBER + GAP};
    (void)snprintf(column->head[HEAD_NAME], DIMS_KEY_MAX, "%s",
                   short_name(table->arm->bench, grid->metric->name));
    name_line(table, &grid->line[line], column->head[HEAD_WHICH], DIMS_KEY_MAX);
    (void)snprintf(column->head[HEAD_UNIT], DIMS_KEY_MAX, "%s", number_unit(grid->metric->unit));
    for (int head = 0; head < HEADS; head++) {
        int width = (int)strlen(column->head[head]) + GAP;
        column->width = width > column->width ? width : column->width;
    }
    table->width += column->width;
    return table->width <= TEXT_WIDTH;
}

static bool same_sizes(const struct grid *a, const struct grid *b)
{
    bool same = a->ncolumns == b->ncolumns;
    for (size_t i = 0; i < a->ncolumns && same; i++)
        same = !dims_compare(&a->column[i], &b->column[i]);
    return same;
}

/* A column for each line; false, and none, where they do not fit. */
static bool add_grid(struct table *table, const struct grid *grid)
{
    size_t before = table->ncolumns;
    bool fits = true;
    for (size_t line = 0; line < grid->nlines && fits; line++)
        fits = add_column(table, grid, line);
    if (!fits)
        table->ncolumns = before;
    return fits;
}

/* Takes the group's grids of the metrics in `told`, and out of it those that it cannot hold. */
static int fill(struct table *table, uint64_t *told)
{
    const struct bench_metric *metrics = table->arm->bench->metrics;
    const struct grid *first = NULL;
    bool full = false;
    for (size_t m = 0; m < METRICS_MOST; m++) {
        if (!(*told >> m & 1))
            continue;
        struct grid *whole = grid_make(table->rows, table->arm, table->rounds, &metrics[m]);
        struct grid *grid = whole ? grid_take(whole, &table->at) : NULL;
        grid_free(whole);
        table->grid[m] = grid;
        if (!grid)
            return -ENOMEM;
        bool by_size = grid->fits && dim_kind(table->arm->bench, grid->across) == DIM_BYTES;
        first = !first && by_size ? grid : first;
        bool same = by_size && same_sizes(first, grid);
        full = full || (same && !add_grid(table, grid));
        if (grid->n && (full || !same)) /* of what has none here, others may have more */
            *told &= ~(UINT64_C(1) << m);
    }
    if (first && first->ncolumns <= SIDE_BY_SIDE)
        *told = table->ncolumns = 0;
    return 0;
}

static void print_table(struct table *table, const char *group)
{
    const struct grid *first = table->column[0].grid;
    const char *const corners[HEADS] = {group, "", "size"};
    char text[32];
    (void)fputs(table->printed++ ? "\n" : "", table->out);
    for (int head = 0; head < HEADS; head++) {
        bool any = head != HEAD_WHICH;
        for (size_t i = 0; i < table->ncolumns; i++)
            any = any || table->column[i].head[head][0];
        if (!any)
            continue;
        (void)fprintf(table->out, "%-*s", table->left, corners[head]);
        for (size_t i = 0; i < table->ncolumns; i++)
            (void)fprintf(table->out, "%*s", table->column[i].width, table->column[i].head[head]);
        (void)fputc('\n', table->out);
    }
    for (size_t size = 0; size < first->ncolumns; size++) {
        (void)number_format_bytes(grid_number(first, size), text, sizeof(text));
        (void)fprintf(table->out, "%-*s", table->left, text);
        for (size_t i = 0; i < table->ncolumns; i++)
            (void)fprintf(table->out, "%*s", table->column[i].width,
                          grid_format(table->column[i].grid, table->column[i].line, size, text,
                                      sizeof(text)));
        (void)fputc('\n', table->out);
    }
}

/* One group: takes out of `told` what its table cannot hold, or prints the table. */
static int visit(struct table *table, bool print, uint64_t *told)
{
    uint64_t fits = *told;
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX], group[2 * DIMS_KEY_MAX] = "";
    dims_part(table->arm->bench, &table->at, 0, name, value);
    if (!number_in_title(table->result, table->arm, name))
        (void)snprintf(group, sizeof(group), "%s %s", name, value);
    table->left = (int)strlen(group) > LEFT ? (int)strlen(group) : LEFT;
    table->width = table->left;
    table->ncolumns = 0;
    int rc = fill(table, &fits);
    if (!print)
        *told = fits;
    else if (!rc && table->ncolumns)
        print_table(table, group);
    for (size_t m = 0; m < METRICS_MOST; m++) {
        grid_free(table->grid[m]);
        table->grid[m] = NULL;
    }
    return rc;
}

/* Metrics that are shown by size and have values; of the first, the groups that those make. */
static int find_groups(struct table *table, uint64_t *told, struct dims *group, size_t *ngroups)
{
    const struct bench_metric *metrics = table->arm->bench->metrics;
    for (size_t m = 0; metrics && metrics[m].name && m < METRICS_MOST; m++) {
        if (!metrics[m].by_size)
            continue;
        struct grid *grid = grid_make(table->rows, table->arm, table->rounds, &metrics[m]);
        if (!grid)
            return -ENOMEM;
        if (grid->n && !*told && grid->row[0]->dims.n)
            *ngroups = grid_values(grid, grid->row[0]->dims.of[0].dim, group);
        *told |= (uint64_t)(grid->n > 0) << m;
        grid_free(grid);
    }
    return 0;
}

int by_size_print(const struct result *result, const struct rows *rows, const struct arm *arm,
                  const struct arm_rounds *rounds, FILE *out, uint64_t *told)
{
    struct table table = {.result = result, .rows = rows, .arm = arm, .rounds = rounds, .out = out};
    struct dims group[GRID_SPLITS];
    size_t n = 0;
    *told = 0;
    int rc = find_groups(&table, told, group, &n);
    for (int print = 0; print < 2 && !rc; print++) {
        if (n > GRID_SPLITS || !(*told & (*told - 1))) /* less than two metrics */
            *told = n = 0;
        for (size_t i = 0; i < n && !rc; i++) {
            table.at = group[i];
            rc = visit(&table, print, told);
        }
    }
    return rc;
}
