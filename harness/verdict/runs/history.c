#include "harness/verdict/runs/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/rows/metric.h"
#include "harness/rows/say.h"
#include "harness/verdict/runs/new_params.h"

int history_add_run(struct history *history, const struct history_run *run, uint32_t *at,
                    struct err *err)
{
    struct history_run *added = array_add(history->runs, history->nruns, history->runs_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for %zu runs", history->nruns + 1);
    *at = (uint32_t)history->nruns - 1;
    *added = *run;
    added->added = *at;
    return 0;
}

bool history_has_run(const struct history *history, const char *run_id)
{
    for (size_t i = 0; i < history->nruns; i++)
        if (strcmp(history->runs[i].run_id, run_id) == 0)
            return true;
    return false;
}

static bool is_of(const struct history_series *series, const struct history_figure *figure)
{
    const struct history_figure *own = &series->figure;
    return !strcmp(own->arm, figure->arm) && !strcmp(own->metric, figure->metric) &&
           !strcmp(own->params, figure->params) && !strcmp(own->unit, figure->unit);
}

static struct history_series *find_series(struct history *history,
                                          const struct history_figure *figure)
{
    for (size_t i = 0; i < history->nseries; i++)
        if (is_of(&history->series[i], figure))
            return &history->series[i];
    struct history_series *added =
        array_add(history->series, history->nseries, history->series_capacity);
    if (added)
        *added = (struct history_series){.figure = *figure};
    return added;
}

int history_add(struct history *history, const struct history_figure *figure, uint32_t run,
                double value, struct err *err)
{
    if (!(value > 0) || isinf(value))
        return 0;
    struct history_series *series = find_series(history, figure);
    struct history_point *added =
        series ? array_add(series->point, series->n, series->capacity) : NULL;
    if (!added)
        return err_set(err, -ENOMEM, "no memory for %zu series", history->nseries + 1);
    *added = (struct history_point){run, value};
    return 0;
}

void history_free(struct history *history)
{
    for (size_t i = 0; i < history->nseries; i++)
        free(history->series[i].point);
    free(history->series);
    free(history->runs);
    *history = (struct history){0};
}

bool history_takes(const struct row *row)
{
    bool measured = row->status == STATUS_OK || row->status == STATUS_NOISY;
    return measured && strcmp(row->better, "none") != 0 && (row->arm->canary || row_gates(row));
}

void history_name(const struct row *row, struct history_figure *figure)
{
    char said[DIMS_KEY_MAX + 64], own[ROW_PARAMS_MAX];
    *figure = (struct history_figure){.canary = row->arm->canary};
    (void)say_dims(row->arm->bench, &row->dims, said, sizeof(said));
    text_set(figure->arm, "%s, %s, %u worker%s%s%s%s", row->bench, row->placement, row->workers,
             row->workers == 1 ? "" : "s", device_mark(device_find(row->device)),
             said[0] ? ", " : "", said);
    text_set(figure->params, "%s;%s;%s", row->scenario, row->device,
             new_params_without_defaults(row->arm->bench->opts, row->params, own, sizeof(own)));
    text_set(figure->metric, "%s", row->metric);
    text_set(figure->unit, "%s", row->unit);
    text_set(figure->better, "%s", row->better);
}

static int compare_runs(const void *a, const void *b)
{
    const struct history_run *x = a, *y = b;
    int times = strcmp(x->started, y->started), ids = times ? 0 : strcmp(x->run_id, y->run_id);
    return times ? times : ids ? ids : (x->added > y->added) - (x->added < y->added);
}

static int compare_points(const void *a, const void *b)
{
    const struct history_point *x = a, *y = b;
    return (x->run > y->run) - (x->run < y->run);
}

int history_sort(struct history *history, struct err *err)
{
    uint32_t *place = calloc(history->nruns + 1, sizeof(*place));
    if (!place)
        return err_set(err, -ENOMEM, "no memory for %zu runs", history->nruns);
    if (history->nruns)
        qsort(history->runs, history->nruns, sizeof(*history->runs), compare_runs);
    for (size_t i = 0; i < history->nruns; i++)
        place[history->runs[i].added] = (uint32_t)i;
    for (size_t i = 0; i < history->nseries; i++) {
        struct history_series *series = &history->series[i];
        for (size_t j = 0; j < series->n; j++)
            series->point[j].run = place[series->point[j].run];
        qsort(series->point, series->n, sizeof(*series->point), compare_points);
    }
    for (size_t i = 0; i < history->nruns; i++)
        history->runs[i].added = (uint32_t)i;
    free(place);
    return 0;
}
