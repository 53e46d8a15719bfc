#include "harness/show/table/scan.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/strbuf.h"
#include "harness/lib/base/text.h"
#include "harness/rows/grid.h"
#include "harness/rows/number.h"
#include "harness/rows/say.h"
#include "harness/show/table/by_size.h"
#include "harness/show/table/columns.h"

enum { LABEL_LEAST = 20, LABEL_MOST = 47, LEFT_OUT_NAMED = 6 };

/* Columns that tables of a block do not show, and the metrics of those tables. */
struct left_out {
    struct strbuf columns, metrics;  /* "size 4 KiB, 2 MiB"; "latency, busbw" */
    const struct bench_metric *last; /* of those metrics */
};

struct values {
    const struct result *result;
    const struct rows *rows;
    FILE *out;
    bool color;
    const struct arm *arm;           /* of the block being printed */
    const struct arm_rounds *rounds; /* of that arm */
    int label;                       /* width of the block's first column */
    int lines_label;                 /* that it needs for lines, without the tables' heads */
    int cell;                        /* of the others of the table being printed */
    struct columns shown;            /* of that table, beside each other */
    struct columns_wanted wanted;    /* by the block's tables */
    char header[TEXT_WIDTH + 1];     /* of the columns printed last */
    char singles[1000];              /* values without a table, for the end of the block */
    struct left_out *left_out;       /* nleft_out of the block; owned */
    size_t nleft_out;
    uint64_t told; /* metrics of the block that stand in tables of many sizes */
    bool failed;   /* no memory for what was left out */
};

/*
 * Of where a value stands among others, the parts that are the same in all, or those that are not;
 * without what the title says. What is the same in all lines of a table goes into its head.
 */
static void say_parts(const struct values *values, const struct dims *at, const struct dims *all,
                      size_t nall, bool common, char *buf, size_t size)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    buf[0] = '\0';
    for (unsigned part = 0; part < at->n; part++) {
        const struct dims only = dims_only(at, at->of[part].dim);
        bool same = true;
        for (size_t i = 0; i < nall; i++)
            same = same && dims_has(&all[i], at->of[part].dim) && dims_agree(&all[i], &only);
        dims_part(values->arm->bench, at, part, name, value);
        if (same == common && !number_in_title(values->result, values->arm, name))
            text_append(buf, size, ", ", "%s %s", name, value);
    }
}

/* A line of its own where it leaves less than `beside` characters, then nothing beside the table.
 */
static const char *fit_label(const struct values *values, const char *label, size_t beside)
{
    if (strlen(label) + beside <= (size_t)values->label)
        return label;
    (void)fprintf(values->out, "%s\n", label);
    return "";
}

/* Names of the columns. Not again what was printed last. */
static void print_header(struct values *values, const struct grid *grid, const char *label)
{
    char header[sizeof(values->header)];
    const char *left = fit_label(values, label, strlen(grid->name) + 1);
    size_t used = (size_t)snprintf(header, sizeof(header), "%s%*s", left,
                                   values->label - (int)strlen(left), grid->name);
    for (size_t i = 0; i < values->shown.n && used < sizeof(header); i++) {
        char text[DIMS_KEY_MAX];
        const char *name = grid_column(grid, values->shown.at[i], text, sizeof(text));
        used += (size_t)snprintf(header + used, sizeof(header) - used, "%*s", values->cell, name);
    }
    size_t columns = left[0] ? 0 : (size_t)values->label - strlen(grid->name);
    if (strcmp(header + columns, values->header + columns) != 0)
        (void)fprintf(values->out, "%s\n", header);
    memcpy(values->header, header, sizeof(header));
}

/* "latency, ns"; numbers that carry their unit, or have none, stand alone. */
static void name_grid(const struct grid *grid, char *buf, size_t size)
{
    const char *unit = number_unit(grid->metric->unit);
    (void)snprintf(buf, size, "%s%s%s", grid->metric->name, unit[0] ? ", " : "", unit);
}

static void print_line(const struct values *values, const struct grid *grid, size_t line,
                       const char *label)
{
    char text[32];
    (void)fprintf(values->out, "%-*s", values->label, fit_label(values, label, 0));
    for (size_t i = 0; i < values->shown.n; i++)
        (void)fprintf(values->out, "%*s", values->cell,
                      grid_format(grid, line, values->shown.at[i], text, sizeof(text)));
    (void)fputc('\n', values->out);
}

/* What stands left of the columns' names: of a table of one line, only what all keys share. */
static void label_head(const struct values *values, const struct grid *grid, char *buf, size_t size)
{
    char name[64] = "", rest[DIMS_KEY_MAX];
    if (grid->nlines > 1)
        name_grid(grid, name, sizeof(name));
    say_parts(values, &grid->line[0], grid->line, grid->nlines, true, rest, sizeof(rest));
    (void)snprintf(buf, size, "%s%s%s", name, name[0] && rest[0] ? ", " : "", rest);
}

static void label_line(const struct values *values, const struct grid *grid, size_t line, char *buf,
                       size_t size)
{
    char rest[DIMS_KEY_MAX];
    say_parts(values, &grid->line[line], grid->line, grid->nlines, false, rest, sizeof(rest));
    if (grid->nlines == 1)
        name_grid(grid, buf, size);
    else
        (void)snprintf(buf, size, "  %s", rest);
}

/* How many of its columns stand beside each other; sets their width. */
static size_t fit_columns(struct values *values, const struct grid *grid)
{
    int room = TEXT_WIDTH - values->label;
    values->cell = columns_cell(grid, room);
    return room > values->cell ? (size_t)(room / values->cell) : 1;
}

/* "threads 4, 16" of a few that the table does not show, else "size (12 of 19)"; "" = shows all. */
static void say_left_out(const struct values *values, const struct grid *grid, struct strbuf *text)
{
    char name[DIMS_KEY_MAX];
    size_t n = grid->ncolumns - values->shown.n, at = 0;
    if (n == 0)
        return;
    strbuf_adds(text, grid->name);
    if (n > LEFT_OUT_NAMED) {
        strbuf_addf(text, " (%zu of %zu)", n, grid->ncolumns);
        return;
    }
    for (size_t i = 0, listed = 0; i < grid->ncolumns; i++)
        if (at < values->shown.n && values->shown.at[at] == i)
            at++;
        else
            strbuf_addf(text, "%s %s", listed++ ? "," : "",
                        grid_column(grid, i, name, sizeof(name)));
}

/* The block's entry of those columns, new where there is none; takes them. NULL: no memory. */
static struct left_out *find_left_out(struct values *values, struct strbuf *columns)
{
    for (size_t i = 0; i < values->nleft_out; i++)
        if (strcmp(values->left_out[i].columns.text, columns->text) == 0) {
            strbuf_free(columns);
            return &values->left_out[i];
        }
    struct left_out *all = realloc(values->left_out, (values->nleft_out + 1) * sizeof(*all));
    if (!all) {
        strbuf_free(columns);
        return NULL;
    }
    values->left_out = all;
    all += values->nleft_out++;
    *all = (struct left_out){.columns = *columns};
    return all;
}

static void note_left_out(struct values *values, const struct grid *grid)
{
    struct strbuf columns = {0};
    say_left_out(values, grid, &columns);
    if (!columns.text || columns.failed) {
        values->failed = values->failed || columns.failed;
        strbuf_free(&columns);
        return;
    }
    struct left_out *left_out = find_left_out(values, &columns);
    if (!left_out)
        values->failed = true;
    else if (left_out->last != grid->metric)
        strbuf_addf(&left_out->metrics, "%s%s", left_out->last ? ", " : "", grid->metric->name);
    if (left_out)
        left_out->last = grid->metric;
}

/* In one line, which is wrapped; frees what was noted. */
static void print_left_out(struct values *values)
{
    struct strbuf line = {0};
    for (size_t i = 0; i < values->nleft_out; i++) {
        struct left_out *left_out = &values->left_out[i];
        values->failed = values->failed || left_out->metrics.failed;
        strbuf_addf(&line, "%s of %s: %s", i ? ";" : "not shown, but in rows.csv:",
                    left_out->metrics.text ? left_out->metrics.text : "", left_out->columns.text);
        strbuf_free(&left_out->metrics);
        strbuf_free(&left_out->columns);
    }
    values->failed = values->failed || line.failed;
    if (line.text)
        text_wrap(line.text, 0, 2, values->out);
    strbuf_free(&line);
    free(values->left_out);
    values->left_out = NULL;
    values->nleft_out = 0;
}

static bool has_values(const struct values *values, const struct grid *grid, size_t line)
{
    for (size_t i = 0; i < values->shown.n; i++)
        if (grid_at(grid, line, values->shown.at[i]))
            return true;
    return false;
}

static void print_columns(struct values *values, const struct grid *grid)
{
    char label[128];
    label_head(values, grid, label, sizeof(label));
    print_header(values, grid, label);
    for (size_t line = 0; line < grid->nlines; line++) {
        if (!has_values(values, grid, line))
            continue;
        label_line(values, grid, line, label, sizeof(label));
        print_line(values, grid, line, label);
    }
}

static void print_grid(struct values *values, const struct grid *grid)
{
    size_t block = fit_columns(values, grid);
    struct columns all;
    columns_choose(grid, block, &values->wanted, &all);
    values->shown = all;
    note_left_out(values, grid);
    for (size_t first = 0; first < all.n; first += values->shown.n) {
        size_t left = all.n - first;
        values->shown.n = left < block ? left : block;
        memcpy(values->shown.at, all.at + first, values->shown.n * sizeof(all.at[0]));
        print_columns(values, grid);
    }
}

/* "2-38" of a pair, else "layout same, threads 2", without what the title says. */
static char *format_place(const struct values *values, const struct row *row, char *buf,
                          size_t size)
{
    if (grid_is_pair(row))
        (void)snprintf(buf, size, "%.0f-%.0f", row->dims.of[0].at, row->dims.of[1].at);
    else
        say_parts(values, &row->dims, NULL, 0, true, buf, size);
    return buf;
}

static void print_range(const struct values *values, struct grid *grid)
{
    char line[400], least[32], middle[32], most[32], least_key[96], most_key[96];
    const char *unit = grid->metric->unit;
    grid_sort(grid);
    const struct row *first = grid->row[0], *last = grid->row[grid->n - 1];
    double median = (grid->row[(grid->n - 1) / 2]->median + grid->row[grid->n / 2]->median) / 2;
    (void)snprintf(line, sizeof(line), "%s: %zu %s, %s (%s) .. %s median .. %s (%s)",
                   grid->metric->name, grid->n, grid_is_pair(first) ? "pairs" : "values",
                   grid_say(grid, first, true, least, sizeof(least)),
                   format_place(values, first, least_key, sizeof(least_key)),
                   number_format(median, unit, true, middle, sizeof(middle)),
                   grid_say(grid, last, true, most, sizeof(most)),
                   format_place(values, last, most_key, sizeof(most_key)));
    text_wrap(line, 0, 2, values->out);
}

static void note_single(struct values *values, const struct grid *grid)
{
    char value[32], name[96];
    (void)format_place(values, grid->row[0], name, sizeof(name));
    text_append(values->singles, sizeof(values->singles), "; ", "%s %s%s%s%s", grid->metric->name,
                grid_say(grid, grid->row[0], true, value, sizeof(value)), name[0] ? " (" : "", name,
                name[0] ? ")" : "");
}

static int imin(int a, int b)
{
    return a < b ? a : b;
}

static int imax(int a, int b)
{
    return a > b ? a : b;
}

/* So that tables of a block that share their columns stand below each other. */
static void widen_label(void *arg, struct grid *grid)
{
    struct values *values = arg;
    char label[128];
    if (!grid->fits)
        return;
    label_head(values, grid, label, sizeof(label));
    size_t width = strlen(label) + 2 + strlen(grid->name);
    for (size_t line = 0; line < grid->nlines; line++) {
        label_line(values, grid, line, label, sizeof(label));
        width = strlen(label) > width ? strlen(label) : width;
        values->lines_label = imax(values->lines_label, (int)strlen(label));
    }
    values->label = imax(values->label, imin((int)width, LABEL_MOST));
}

/* Columns that stand alone get the room that they lack from heads, which have lines of their own.
 */
static void note_wanted(void *arg, struct grid *grid)
{
    struct values *values = arg;
    if (!grid->fits)
        return;
    int left = TEXT_WIDTH - (int)grid->ncolumns * columns_cell_least(grid);
    if (columns_stand_alone(grid) && left >= values->lines_label)
        values->label = imin(values->label, left);
    columns_want(grid, fit_columns(values, grid), &values->wanted);
}

static void print_one(void *arg, struct grid *grid)
{
    struct values *values = arg;
    if (grid->n == 1)
        note_single(values, grid);
    else if (grid->fits)
        print_grid(values, grid);
    else if (grid->n)
        print_range(values, grid);
}

/* Three times over the metrics: for the width of the labels, for what the tables must show. */
static int print_grids(struct values *values)
{
    void (*const passes[])(void *arg, struct grid *grid) = {widen_label, note_wanted, print_one};
    int rc = 0;
    for (size_t pass = 0; pass < sizeof(passes) / sizeof(passes[0]) && !rc; pass++) {
        const struct bench_metric *metric = values->arm->bench->metrics;
        for (uint64_t bit = 1; metric && metric->name && !rc; metric++, bit <<= 1) {
            if (metric->quiet || values->told & bit)
                continue;
            struct grid *grid = grid_make(values->rows, values->arm, values->rounds, metric);
            rc = grid ? grid_visit(grid, passes[pass], values) : -ENOMEM;
            grid_free(grid);
        }
    }
    return rc;
}

static int print_block(struct values *values)
{
    char what[96];
    (void)say_arm(values->result, values->arm, NULL, what, sizeof(what));
    (void)fprintf(values->out, "\n%s%s%s%s%s\n", values->color ? "\033[1m" : "",
                  values->arm->bench->name, what[0] ? ", " : "", what,
                  values->color ? "\033[0m" : "");
    values->label = values->lines_label = LABEL_LEAST;
    values->singles[0] = '\0';
    values->wanted.n = 0;
    memset(values->header, 0, sizeof(values->header));
    int rc = by_size_print(values->result, values->rows, values->arm, values->rounds, values->out,
                           &values->told);
    if (!rc)
        rc = print_grids(values);
    if (values->singles[0])
        text_wrap(values->singles, 0, 2, values->out);
    print_left_out(values);
    return rc ? rc : values->failed ? -ENOMEM : 0;
}

/* Teams under a load stand in a table of their own, beside what they do without it. */
static bool stands_beside_idle(const struct rows *rows, const struct arm *arm)
{
    size_t at = 0;
    return bench_kept(arm->bench) && rows_next(rows, arm, "retention", &at);
}

int scan_print(const struct result *result, const struct rows *rows, const struct rounds *rounds,
               FILE *out, bool color)
{
    struct values values = {.result = result, .rows = rows, .out = out, .color = color};
    int rc = 0;
    for (size_t i = 0; i < result->narms && !rc; i++) {
        values.arm = &result->arms[i];
        values.rounds = &rounds->arms[i];
        if (values.arm->bench->scan && rounds->arms[i].n && !stands_beside_idle(rows, values.arm))
            rc = print_block(&values);
    }
    return rc;
}
