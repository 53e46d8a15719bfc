#include "harness/table/by_size.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/rows/key.h"
#include "harness/table/grid.h"
#include "harness/table/number.h"

enum {
    SIDE_BY_SIDE = 5, /* sizes that fit beside the label of a line */
    METRICS_MOST = 64,
    COLUMNS_MOST = 16,
    GAP = 2,
    NUMBER = 6, /* the least width of a column */
    LEFT = 9    /* that of the sizes */
};

struct column {
    const struct grid *grid;
    size_t line;
    char name[VALUE_KEY_MAX], which[VALUE_KEY_MAX]; /* "time" over "p99" */
    int width;
};

struct sizes {
    const struct result *result;
    const struct rows *rows;
    const struct arm *arm;
    FILE *out;
    char part[VALUE_KEY_MAX], value[VALUE_KEY_MAX]; /* of the group being visited */
    struct grid *grid[METRICS_MOST];                /* of the group, by metric; NULL = none */
    uint64_t present, others; /* metrics: with sizes in any group; with something else */
    struct column column[COLUMNS_MOST];
    size_t ncolumns;
    int left;         /* width of the first column */
    unsigned printed; /* tables */
};

/* Without what the benchmark's name says: "latency" of collective_latency. */
static const char *short_name(const struct sizes *sizes, const char *metric)
{
    size_t length = strlen(sizes->arm->bench->name);
    bool begins = strncmp(metric, sizes->arm->bench->name, length) == 0 && metric[length] == '_';
    return begins ? metric + length + 1 : metric;
}

/* The values of a line's key but the group's: "p99", "in p50", "rank 3". */
static void name_line(const struct sizes *sizes, const char *key, char *buf, size_t size)
{
    char name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    size_t used = 0;
    buf[0] = '\0';
    for (unsigned part = 0; key_part(key, part, name, value) && used < size; part++)
        if (strcmp(name, sizes->part) != 0) {
            bool number = value[0] >= '0' && value[0] <= '9';
            used += (size_t)snprintf(buf + used, size - used, "%s%s%s%s", used ? " " : "",
                                     number ? name : "", number ? " " : "", value);
        }
}

static int widest(const struct column *column)
{
    size_t width = NUMBER;
    const char *const texts[] = {column->name, column->which,
                                 number_unit(column->grid->metric->unit)};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        width = strlen(texts[i]) > width ? strlen(texts[i]) : width;
    return (int)width + GAP;
}

/* Adds the grid's columns; false, and none of them, where they do not fit. */
static bool add_columns(struct sizes *sizes, const struct grid *grid)
{
    int used = sizes->left;
    size_t before = sizes->ncolumns;
    for (size_t i = 0; i < sizes->ncolumns; i++)
        used += sizes->column[i].width;
    for (size_t line = 0; line < grid->nlines; line++) {
        if (sizes->ncolumns == COLUMNS_MOST)
            break;
        struct column *column = &sizes->column[sizes->ncolumns++];
        *column = (struct column){.grid = grid, .line = line};
        (void)snprintf(column->name, sizeof(column->name), "%s",
                       short_name(sizes, grid->metric->name));
        name_line(sizes, grid->line[line], column->which, sizeof(column->which));
        column->width = widest(column);
        used += column->width;
    }
    if (sizes->ncolumns == before + grid->nlines && used <= TEXT_WIDTH)
        return true;
    sizes->ncolumns = before;
    return false;
}

/* The grids of the group whose columns are sizes. */
static int take_grids(struct sizes *sizes)
{
    const struct bench_metric *metric = sizes->arm->bench->metrics;
    for (size_t m = 0; metric[m].name && m < METRICS_MOST; m++) {
        if (metric[m].quiet)
            continue;
        struct grid *whole = grid_make(sizes->rows, sizes->arm, &metric[m]);
        struct grid *some = whole ? grid_take(whole, sizes->part, sizes->value) : NULL;
        grid_free(whole);
        if (!some)
            return -ENOMEM;
        bool by_size = strcmp(some->across, "size") == 0;
        sizes->present |= (uint64_t)by_size << m;
        sizes->others |= (uint64_t)(!by_size && some->n) << m;
        sizes->grid[m] = by_size ? some : NULL;
        if (!by_size)
            grid_free(some);
    }
    return 0;
}

static void free_grids(struct sizes *sizes)
{
    for (size_t m = 0; m < METRICS_MOST; m++) {
        grid_free(sizes->grid[m]);
        sizes->grid[m] = NULL;
    }
}

static void name_group(struct sizes *sizes, char *buf, size_t size)
{
    bool told = number_in_title(sizes->result, sizes->arm, sizes->part);
    (void)snprintf(buf, size, "%s%s%s", told ? "" : sizes->part, told ? "" : " ",
                   told ? "" : sizes->value);
    sizes->left = (int)strlen(buf) > LEFT ? (int)strlen(buf) : LEFT;
    sizes->ncolumns = 0;
}

static bool same_sizes(const struct grid *a, const struct grid *b)
{
    bool same = a->ncolumns == b->ncolumns;
    for (size_t i = 0; i < a->ncolumns && same; i++)
        same = strcmp(a->column[i], b->column[i]) == 0;
    return same;
}

/* Which metrics the group's table holds, as columns; those of `from` only. */
static uint64_t choose(struct sizes *sizes, uint64_t from)
{
    const struct grid *first = NULL;
    uint64_t chosen = 0;
    for (size_t m = 0; m < METRICS_MOST; m++) {
        const struct grid *grid = sizes->grid[m];
        if (!grid || !(from >> m & 1))
            continue;
        first = first ? first : grid;
        if (!same_sizes(first, grid))
            continue;
        if (!add_columns(sizes, grid))
            break;
        chosen |= UINT64_C(1) << m;
    }
    bool long_enough = first && first->ncolumns > SIDE_BY_SIDE;
    return long_enough ? chosen : 0;
}

/* Metrics that the group has nothing of do not keep others from being chosen. */
static uint64_t absent(const struct sizes *sizes)
{
    uint64_t none = 0;
    for (size_t m = 0; m < METRICS_MOST; m++)
        if (!sizes->grid[m])
            none |= UINT64_C(1) << m;
    return none;
}

static void print_heads(const struct sizes *sizes, const char *group)
{
    bool any_which = false;
    for (size_t i = 0; i < sizes->ncolumns; i++)
        any_which = any_which || sizes->column[i].which[0];
    for (int row = 0; row < 3; row++) {
        if (row == 1 && !any_which)
            continue;
        (void)fprintf(sizes->out, "%-*s", sizes->left, row == 0 ? group : row == 2 ? "size" : "");
        for (size_t i = 0; i < sizes->ncolumns; i++) {
            const struct column *column = &sizes->column[i];
            const char *unit = number_unit(column->grid->metric->unit);
            (void)fprintf(sizes->out, "%*s", column->width,
                          row == 0   ? column->name
                          : row == 1 ? column->which
                                     : unit);
        }
        (void)fputc('\n', sizes->out);
    }
}

static void print_table(struct sizes *sizes, const char *group)
{
    const struct grid *first = sizes->column[0].grid;
    (void)fputs(sizes->printed++ ? "\n" : "", sizes->out);
    print_heads(sizes, group);
    for (size_t size = 0; size < first->ncolumns; size++) {
        char text[32];
        (void)number_format_bytes(strtod(first->column[size], NULL), text, sizeof(text));
        (void)fprintf(sizes->out, "%-*s", sizes->left, text);
        for (size_t i = 0; i < sizes->ncolumns; i++) {
            const struct column *column = &sizes->column[i];
            double value = grid_value(column->grid, column->line, size);
            const char *unit = column->grid->metric->unit;
            (void)fprintf(sizes->out, "%*s", column->width,
                          isnan(value) ? "-"
                                       : number_format(value, unit, false, text, sizeof(text)));
        }
        (void)fputc('\n', sizes->out);
    }
}

/* One group: narrows `told` to what its table can hold, or prints the table. */
static int visit(struct sizes *sizes, bool print, uint64_t *told)
{
    char group[2 * VALUE_KEY_MAX];
    int rc = take_grids(sizes);
    name_group(sizes, group, sizeof(group));
    if (!rc && !print)
        *told &= choose(sizes, *told) | absent(sizes);
    else if (!rc && choose(sizes, *told))
        print_table(sizes, group);
    free_grids(sizes);
    return rc;
}

/* All groups. `base` has every value of the part. */
static int visit_all(struct sizes *sizes, const struct grid *base, bool print, uint64_t *told)
{
    int rc = 0;
    for (size_t i = 0; grid_split_value(base, sizes->part, i, sizes->value) && !rc; i++)
        rc = visit(sizes, print, told);
    return rc;
}

/*
 * The first metric that has sizes; the first part of its keys makes the groups. NULL = none, also
 * where the size comes first: that is a curve, whose shape a few of its points tell.
 */
static int find_base(struct sizes *sizes, struct grid **base)
{
    char key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    *base = NULL;
    for (const struct bench_metric *metric = sizes->arm->bench->metrics; metric && metric->name;
         metric++) {
        struct grid *grid = grid_make(sizes->rows, sizes->arm, metric);
        if (!grid)
            return -ENOMEM;
        if (grid->n > SIDE_BY_SIDE && key_get(key_copy(grid->row[0], key), "size", value) &&
            key_part(key, 0, sizes->part, value) && strcmp(sizes->part, "size") != 0) {
            *base = grid;
            return 0;
        }
        grid_free(grid);
    }
    return 0;
}

static bool has_several(uint64_t bits)
{
    return (bits & (bits - 1)) != 0;
}

int by_size_print(const struct result *result, const struct rows *rows, const struct arm *arm,
                  FILE *out, uint64_t *told)
{
    struct grid *base;
    struct sizes *sizes = calloc(1, sizeof(*sizes));
    *told = 0;
    if (!sizes)
        return -ENOMEM;
    *sizes = (struct sizes){.result = result, .rows = rows, .arm = arm, .out = out};
    int rc = find_base(sizes, &base);
    if (!rc && base) {
        uint64_t fits = UINT64_MAX;
        rc = visit_all(sizes, base, false, &fits);
        fits &= sizes->present & ~sizes->others;
        if (!rc && has_several(fits)) {
            *told = fits;
            rc = visit_all(sizes, base, true, &fits);
        }
    }
    free(sizes);
    grid_free(base);
    return rc;
}
