#include "harness/show/figures/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"

static struct series *find_series(struct series_list *list, const struct arm *arm,
                                  const struct dims *at)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->series[i].arm == arm && !dims_compare(&list->series[i].dims, at))
            return &list->series[i];
    struct series *added = array_add(list->series, list->n, list->capacity);
    if (added)
        *added = (struct series){.arm = arm, .dims = *at};
    return added;
}

static bool add_point(struct series *series, double x, const struct row *row)
{
    if (!array_add(series->points, series->n, series->capacity))
        return false;
    size_t at = series->n - 1;
    for (; at > 0 && series->points[at - 1].x > x; at--)
        series->points[at] = series->points[at - 1];
    series->points[at] = (struct series_point){x, row};
    return true;
}

static bool add_arm(const struct figure_data *data, const struct arm *arm, struct series_list *list)
{
    const struct bench_figure *figure = data->figure;
    size_t at = 0;
    for (const struct row *row;
         (row = rows_next(&data->analysis->rows, arm, figure->metric, &at));) {
        double x = dims_number(arm->bench, &row->shown, figure->x.dim);
        if (isnan(x) || !dims_agree(&row->shown, figure->only))
            continue;
        const struct dims rest = dims_without(&row->shown, figure->x.dim);
        struct series *series = find_series(list, arm, &rest);
        if (!series || !add_point(series, x, row))
            return false;
    }
    return true;
}

/* Sets x to the value of the axis's metric at the same key; NaN without such a value. */
static void move_points(const struct figure_data *data, struct series *series)
{
    for (size_t i = 0; i < series->n; i++) {
        const struct row *at = rows_at(&data->analysis->rows, series->arm, data->figure->x.metric,
                                       &series->points[i].row->dims);
        series->points[i].x = at ? at->median : (double)NAN;
    }
}

int series_make(const struct figure_data *data, struct series_list *list, struct err *err)
{
    const struct bench_figure *figure = data->figure;
    *list = (struct series_list){0};
    for (size_t i = 0; i < data->result->narms; i++) {
        const struct arm *arm = &data->result->arms[i];
        if (arm->bench == data->bench && !add_arm(data, arm, list))
            return err_set(err, -ENOMEM, "out of memory for the lines of %s", figure->metric);
    }
    for (size_t i = 0; i < list->n && figure->x.metric; i++)
        move_points(data, &list->series[i]);
    return list->n ? 0 : err_set(err, -ENODATA, "the run has no value of %s", figure->metric);
}

void series_free(struct series_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->series[i].points);
    free(list->series);
    *list = (struct series_list){0};
}

void series_split(const struct bench_figure *figure, const struct dims *at, struct dims *own,
                  struct dims *rest)
{
    struct dims varying = *at;
    for (unsigned i = 0; figure->only && i < figure->only->n; i++) /* the title names these */
        varying = dims_without(&varying, figure->only->of[i].dim);
    at = &varying;
    *own = *rest = (struct dims){.n = 0};
    *(figure->series[0] ? rest : own) = *at;
    for (size_t i = 0; i < FIGURE_SERIES && figure->series[i]; i++) {
        dims_take(own, at, figure->series[i]);
        *rest = dims_without(rest, figure->series[i]);
    }
}

enum { MARK_ROWS = 5 };

/* "measured 32.6 MiB", "reported L1 48 KiB". */
static const char *format_mark(const struct figure_data *data, const struct figure_mark *kind,
                               const struct row *row)
{
    bool known = kind->dim && dims_has(&row->dims, kind->dim);
    const char *part = known ? dims_value(row->arm->bench, &row->dims, kind->dim) : "";
    const char *value = data->figure->x.bytes
                            ? units_bytes((uint64_t)row->median)
                            : str_fmt("%s %.20s", units_plain(row->median, 3), row->unit);
    return str_fmt("%s%s%s%.8s %s", kind->text, known ? " " : "", known ? kind->before : "", part,
                   value);
}

void marks_add(struct marks *marks, double value, bool solid, const char *text)
{
    if (marks->n == MARKS_MOST)
        return;
    size_t to = marks->n++;
    for (; to > 0 && marks->mark[to - 1].value > value; to--)
        marks->mark[to] = marks->mark[to - 1];
    marks->mark[to] = (struct mark){.value = value, .solid = solid};
    (void)snprintf(marks->mark[to].text, sizeof(marks->mark[to].text), "%s", text);
}

void marks_collect(const struct figure_data *data, const struct arm *arm, struct marks *marks)
{
    const struct figure_mark *kind = data->figure->marks;
    for (; kind && kind->metric; kind++) {
        size_t at = 0;
        const char *text;
        for (const struct row *row;
             (row = rows_next(&data->analysis->rows, arm, kind->metric, &at));) {
            text = format_mark(data, kind, row);
            marks_add(marks, row->median, kind->solid, text);
        }
    }
}

/* The text goes to the right of its line if it fits there, else to the left. */
static void measure_mark(bool is_log, const double ends[static 2], struct mark *mark)
{
    const double char_share = 0.0092;
    double width = char_share * (double)(strlen(mark->text) + 1);
    mark->at = is_log ? log(mark->value / ends[0]) / log(ends[1] / ends[0])
                      : (mark->value - ends[0]) / (ends[1] - ends[0]);
    mark->left = mark->at + width > 1;
    mark->from = mark->left ? mark->at - width : mark->at;
    mark->to = mark->left ? mark->at : mark->at + width;
}

/* True if the text overlaps another text, or another mark's line crosses it. */
static bool must_rise(const struct mark *mark, const struct mark *other)
{
    bool crossed = other->at >= mark->from && other->at <= mark->to && other->row >= mark->row;
    bool overlaps = other->from < mark->to && mark->from < other->to && other->row == mark->row;
    return crossed || (overlaps && mark->at < other->at);
}

/* Raises texts until none overlap; texts that would need a further row stay in the last one. */
static void arrange_marks(struct mark *marks, size_t n)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t i = n; i-- > 0;)
            for (size_t k = 0; k < n; k++)
                if (k != i && marks[i].row + 1 < MARK_ROWS && must_rise(&marks[i], &marks[k])) {
                    marks[i].row++;
                    moved = true;
                }
    }
}

void marks_put(const struct marks *given, bool is_log, const double ends[static 2], FILE *out)
{
    struct mark marks[MARKS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < given->n; i++) {
        marks[n] = given->mark[i];
        measure_mark(is_log, ends, &marks[n]);
        n += marks[n].at >= 0 && marks[n].at <= 1;
    }
    arrange_marks(marks, n);
    dat_block("marks", "x solid row left text", out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%.9g %d %d %d %s\n", marks[i].value, marks[i].solid, marks[i].row,
                      marks[i].left, dat_text(marks[i].text, sizeof(marks[i].text)).quoted);
}
