/* What scans measured: each metric as a table of its keys, those of pairs as their range. */
#include <stdlib.h>
#include <string.h>

#include "harness/rows/grid.h"
#include "harness/rows/number.h"
#include "harness/rows/say.h"
#include "harness/show/html/html_parts.h"
#include "harness/show/report/escape.h"

/* "latency, ns". */
static const char *name_grid(const struct grid *grid, char *buf, size_t size)
{
    const char *unit = number_unit(grid->metric->unit);
    (void)snprintf(buf, size, "%s%s%s", grid->metric->name, unit[0] ? ", " : "", unit);
    return buf;
}

static void print_grid(const struct grid *grid, FILE *out)
{
    char text[DIMS_KEY_MAX + 32];
    const struct bench *bench = grid->row[0]->arm->bench;
    (void)fputs("<div class=\"scroll\"><table>", out);
    html_line("caption", out, "%s", name_grid(grid, text, sizeof(text)));
    (void)fputs("<tr>", out);
    html_element(HTML_HEAD, out, "%s", grid->name);
    for (size_t i = 0; i < grid->ncolumns; i++)
        html_element(HTML_HEAD, out, "%s", grid_column(grid, i, text, sizeof(text)));
    (void)fputs("</tr>\n", out);
    for (size_t line = 0; line < grid->nlines; line++) {
        (void)fputs("<tr>", out);
        html_element(HTML_NAME, out, "%s", say_dims(bench, &grid->line[line], text, sizeof(text)));
        for (size_t i = 0; i < grid->ncolumns; i++)
            html_element("td", out, "%s", grid_format(grid, line, i, text, sizeof(text)));
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table></div>\n", out);
}

static void print_value(const struct grid *grid, const struct row *row, FILE *out)
{
    char text[DIMS_KEY_MAX + 32], value[32];
    (void)say_dims(row->arm->bench, &row->shown, text, sizeof(text));
    html_say(out, "%s%s%s%s", grid_say(grid, row, true, value, sizeof(value)), text[0] ? " (" : "",
             text, text[0] ? ")" : "");
}

/* Too many for a table: the least, the one in the middle and the most. */
static void print_range(struct grid *grid, FILE *out)
{
    const char *const names[] = {"least", "median", "most"};
    const size_t at[] = {0, (grid->n - 1) / 2, grid->n - 1};
    char text[DIMS_KEY_MAX + 32];
    grid_sort(grid);
    (void)fputs("<p>", out);
    html_say(out, "%s: %zu value%s", name_grid(grid, text, sizeof(text)), grid->n,
             grid->n == 1 ? "" : "s");
    for (int i = 0; i < 3 && grid->n > 1; i++) {
        (void)fprintf(out, ", %s ", names[i]);
        print_value(grid, grid->row[at[i]], out);
    }
    if (grid->n == 1) {
        (void)fputs(", ", out);
        print_value(grid, grid->row[0], out);
    }
    (void)fputs("</p>\n", out);
}

static void print_one(void *out, struct grid *grid)
{
    if (grid->n > 1 && grid->fits)
        print_grid(grid, out);
    else if (grid->n)
        print_range(grid, out);
}

static bool has_values(const struct rows *rows, const struct arm *arm)
{
    const struct bench_metric *metric = arm->bench->metrics;
    for (; metric && metric->name; metric++) {
        size_t at = 0;
        if (!metric->quiet && rows_next(rows, arm, metric->name, &at))
            return true;
    }
    return false;
}

static void print_arm(const struct html_side *side, size_t index, FILE *out)
{
    const struct analysis *analysis = &side->recorded->analysis;
    const struct arm *arm = &side->recorded->result.arms[index];
    char what[96];
    (void)say_arm(&side->recorded->result, arm, NULL, what, sizeof(what));
    html_line("h4", out, "%s%s%s", arm->bench->name, what[0] ? ", " : "", what);
    for (const struct bench_metric *metric = arm->bench->metrics; metric->name; metric++) {
        struct grid *grid =
            metric->quiet ? NULL
                          : grid_make(&analysis->rows, arm, &analysis->rounds.arms[index], metric);
        if (grid)
            (void)grid_visit(grid, print_one, out);
        grid_free(grid);
    }
}

void html_scans(const struct html_side *side, FILE *out)
{
    const struct result *result = &side->recorded->result;
    bool folded = block_any(&side->recorded->analysis), any = false;
    for (size_t i = 0; i < result->narms; i++) {
        if (result->arms[i].canary || !has_values(&side->recorded->analysis.rows, &result->arms[i]))
            continue;
        if (folded && !any)
            (void)fputs("<details><summary>Values beside those of steps</summary>\n", out);
        any = true;
        print_arm(side, i, out);
    }
    if (folded && any)
        (void)fputs("</details>\n", out);
}
