#include "harness/table/beside_steps.h"

#include <math.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/rows/key.h"

enum { NAME = 11, COLUMN = 22, COLUMNS = (TEXT_WIDTH - NAME) / COLUMN };

/* The metric of a column; NULL where there are no more. */
static const char *name_of(const struct bench *bench, int column)
{
    for (const struct bench_metric *metric = bench->metrics; metric && metric->name; metric++)
        if (!metric->quiet && column-- == 0)
            return metric->name;
    return NULL;
}

static const struct row *largest(const struct rows *rows, const struct arm *arm, const char *metric)
{
    const struct row *most = NULL;
    size_t at = 0;
    for (const struct row *row; (row = key_next_row(rows, arm, metric, &at));)
        if (!most || row->median > most->median)
            most = row;
    return most;
}

static void format_value(const struct row *row, char *buf, size_t size)
{
    if (strcmp(row->unit, "ratio") == 0)
        (void)snprintf(buf, size, "%.0f%%", 100 * row->median);
    else if (strcmp(row->unit, "s") == 0)
        (void)units_format_seconds(row->median, buf, size);
    else
        (void)snprintf(buf, size, "%.4g", row->median);
}

static void print_cell(const struct row *row, FILE *out)
{
    char cell[128] = "-", value[32], key[VALUE_KEY_MAX], name[64];
    if (row) {
        format_value(row, value, sizeof(value));
        (void)key_say(row->arm->bench, key_copy(row, key), name, sizeof(name));
        (void)snprintf(cell, sizeof(cell), "%s%s%s%s", value, name[0] ? " (" : "", name,
                       name[0] ? ")" : "");
    }
    (void)fprintf(out, "%*.*s", COLUMN, COLUMN - 1, cell);
}

static void print_line(const struct rows *rows, const struct arm *arm, FILE *out)
{
    (void)fprintf(out, "%-*s", NAME, placement_infos[arm->placement].name);
    for (int i = 0; i < COLUMNS && name_of(arm->bench, i); i++)
        print_cell(largest(rows, arm, name_of(arm->bench, i)), out);
    (void)fputc('\n', out);
}

static bool has_any(const struct rows *rows, const struct arm *arm)
{
    for (int i = 0; name_of(arm->bench, i); i++)
        if (largest(rows, arm, name_of(arm->bench, i)))
            return true;
    return false;
}

void beside_steps_print(const struct result *result, const struct rows *rows, const size_t *order,
                        size_t n, FILE *out)
{
    const struct bench *bench = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct arm *arm = &result->arms[order[i]];
        if (!has_any(rows, arm))
            continue;
        if (arm->bench != bench) {
            bench = arm->bench;
            (void)fprintf(out, "\n%-*s", NAME, "largest");
            for (int m = 0; m < COLUMNS && name_of(bench, m); m++)
                (void)fprintf(out, "%*.*s", COLUMN, COLUMN - 1, name_of(bench, m));
            (void)fputc('\n', out);
        }
        print_line(rows, arm, out);
    }
}
