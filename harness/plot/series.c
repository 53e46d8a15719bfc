#include "harness/plot/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Characters of a name that its place in a legend has room for. */
enum { NAME_MOST = 48 };

static struct series *find_series(struct series_list *list, const struct arm *arm, const char *key)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->series[i].arm == arm && strcmp(list->series[i].key, key) == 0)
            return &list->series[i];
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        struct series *grown = realloc(list->series, capacity * sizeof(*grown));
        if (!grown)
            return NULL;
        list->series = grown;
        list->capacity = capacity;
    }
    struct series *added = &list->series[list->n++];
    *added = (struct series){.arm = arm};
    (void)snprintf(added->key, sizeof(added->key), "%s", key);
    return added;
}

static bool add_point(struct series *series, double x, const struct row *row)
{
    if (series->n == series->capacity) {
        size_t capacity = series->capacity ? 2 * series->capacity : 16;
        struct series_point *grown = realloc(series->points, capacity * sizeof(*grown));
        if (!grown)
            return false;
        series->points = grown;
        series->capacity = capacity;
    }
    size_t at = series->n++;
    for (; at > 0 && series->points[at - 1].x > x; at--)
        series->points[at] = series->points[at - 1];
    series->points[at] = (struct series_point){x, row};
    return true;
}

static bool add_arm(const struct figure_data *data, const struct arm *arm, const char *metric,
                    const char *axis, struct series_list *list)
{
    size_t at = 0;
    for (const struct row *row; (row = key_next_row(data->rows, arm, metric, &at));) {
        char key[VALUE_KEY_MAX];
        double x = key_number(key_copy(row, key), axis);
        if (isnan(x))
            continue;
        key_drop(key, axis);
        struct series *series = find_series(list, arm, key);
        if (!series || !add_point(series, x, row))
            return false;
    }
    return true;
}

int series_make(const struct figure_data *data, const char *metric, const char *axis,
                struct series_list *list, struct err *err)
{
    *list = (struct series_list){0};
    for (size_t i = 0; i < data->result->narms; i++) {
        const struct arm *arm = &data->result->arms[i];
        if (arm->bench->scan && !add_arm(data, arm, metric, axis, list))
            return err_set(err, -ENOMEM, "out of memory for the lines of %s", metric);
    }
    return list->n ? 0 : err_set(err, -ENODATA, "the run has no value of %s", metric);
}

void series_free(struct series_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->series[i].points);
    free(list->series);
    *list = (struct series_list){0};
}

double series_other(const struct figure_data *data, const struct series *series,
                    const struct series_point *point, const char *metric)
{
    size_t at = 0;
    char own[VALUE_KEY_MAX], key[VALUE_KEY_MAX];
    (void)key_copy(point->row, own);
    for (const struct row *row; (row = key_next_row(data->rows, series->arm, metric, &at));)
        if (strcmp(key_copy(row, key), own) == 0)
            return row->median;
    return NAN;
}

void series_put_names(const struct figure_data *data, const struct series_list *list, size_t n,
                      FILE *out)
{
    dat_start_block(out, "-1 \"\"");
    for (size_t i = 0; i < n; i++) {
        const struct series *series = &list->series[i];
        char name[96];
        (void)fprintf(out, "%zu", i);
        dat_put_text(out, key_say(data->result, series->arm, series->key, name, sizeof(name)),
                     NAME_MOST);
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

void series_put_points(const struct series *series, FILE *out)
{
    dat_start_block(out, "NaN NaN NaN NaN");
    for (size_t i = 0; i < series->n; i++) {
        const struct row *row = series->points[i].row;
        (void)fprintf(out, "%.9g %.9g %.9g %.9g\n", series->points[i].x, row->median, row->ci_low,
                      row->ci_high);
    }
    dat_end_block(out);
}
