#include "harness/show/figures/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/array.h"

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
