/* Figures of the kind FIGURE_HEAT: values of pairs of CPUs, NUMA nodes or GPUs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/lib/bitset.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"

enum { ACROSS, DOWN, AXES };

enum { PRINTED_MOST = 8 };

struct matrix {
    struct bitset members[AXES]; /* CPU, node or GPU numbers, times splits plus split if any */
    unsigned n[AXES];
    unsigned place[AXES][BITSET_BITS]; /* index of a member among the members */
    double *value;                     /* owned, n[DOWN] lines; NaN = none */
    double *sorted;                    /* owned, scratch: all values */
    size_t nvalues;
};

static unsigned count_splits(const struct bench_figure *figure)
{
    return figure->split ? figure->nsplits : 1;
}

/* The index of the split that a value belongs to; figure->nsplits: none. */
static unsigned find_split(const struct bench_figure *figure, const struct dims *at)
{
    unsigned n = 0;
    for (; n < figure->nsplits && figure->split; n++) {
        const struct dims split = DIMS({figure->split, n});
        if (dims_has(at, figure->split) && dims_agree(at, &split))
            break;
    }
    return n;
}

/* Reads the two numbers of a row's key; false if the row does not belong in this figure. */
static bool read_pair(const struct bench_figure *figure, const struct row *row,
                      unsigned pair[static AXES])
{
    const struct dims *at = &row->shown;
    unsigned splits = count_splits(figure), split = find_split(figure, at);
    unsigned most = BITSET_BITS / splits;
    double x = dims_number(row->arm->bench, at, figure->x.dim);
    double y = dims_number(row->arm->bench, at, figure->y.dim);
    if (split == splits || !dims_agree(at, figure->only) || !(x >= 0 && x < BITSET_BITS) ||
        !(y >= 0 && y < most))
        return false;
    pair[ACROSS] = (unsigned)x;
    pair[DOWN] = (unsigned)y * splits + split;
    return true;
}

static void number_members(struct matrix *matrix, unsigned axis)
{
    const struct bitset *members = &matrix->members[axis];
    for (int at = bitset_next(members, 0); at >= 0; at = bitset_next(members, (unsigned)at + 1))
        matrix->place[axis][at] = matrix->n[axis]++;
}

static double *cell(const struct matrix *matrix, unsigned across, unsigned down)
{
    return &matrix->value[(size_t)down * matrix->n[ACROSS] + across];
}

static void fill(const struct figure_data *data, const struct arm *arm, struct matrix *matrix)
{
    const struct bench_figure *figure = data->figure;
    size_t at = 0;
    unsigned pair[AXES];
    for (size_t i = 0; i < (size_t)matrix->n[ACROSS] * matrix->n[DOWN]; i++)
        matrix->value[i] = NAN;
    for (const struct row *row;
         (row = rows_next(&data->analysis->rows, arm, figure->metric, &at));) {
        if (!read_pair(figure, row, pair))
            continue;
        unsigned x = matrix->place[ACROSS][pair[ACROSS]], y = matrix->place[DOWN][pair[DOWN]];
        *cell(matrix, x, y) = row->median;
        if (figure->symmetric)
            *cell(matrix, y, x) = row->median;
        matrix->sorted[matrix->nvalues++] = row->median;
    }
    matrix->nvalues = stats_sort(matrix->sorted, matrix->nvalues);
}

static int make_matrix(const struct figure_data *data, const struct arm *arm, struct matrix *matrix,
                       struct err *err)
{
    const struct bench_figure *figure = data->figure;
    size_t at = 0, rows = 0;
    unsigned pair[AXES];
    for (const struct row *row;
         (row = rows_next(&data->analysis->rows, arm, figure->metric, &at));) {
        if (!read_pair(figure, row, pair))
            continue;
        for (unsigned axis = 0; axis < AXES; axis++) {
            bitset_set(&matrix->members[axis], pair[axis]);
            if (!figure->separate_axes)
                bitset_set(&matrix->members[axis], pair[AXES - 1 - axis]);
        }
        rows++;
    }
    if (!rows)
        return err_set(err, -ENODATA, "the run has no value of a pair");
    for (unsigned axis = 0; axis < AXES; axis++)
        number_members(matrix, axis);
    size_t cells = (size_t)matrix->n[ACROSS] * matrix->n[DOWN];
    matrix->value = calloc(cells, sizeof(*matrix->value));
    matrix->sorted = calloc(rows, sizeof(*matrix->sorted));
    if (!matrix->value || !matrix->sorted)
        return err_set(err, -ENOMEM, "out of memory for a map of %u by %u", matrix->n[ACROSS],
                       matrix->n[DOWN]);
    fill(data, arm, matrix);
    return 0;
}

/*
 * Chooses the ends of the colour scale. A single outlier, such as a pair whose CPU the hypervisor
 * took away, would leave one colour for all other values. So values far above the 99th percentile
 * get the colour of the end; the function returns their number. The ends differ by at least 20%, so
 * that noise does not fill the scale.
 */
static size_t choose_range(const struct bench_figure *figure, const struct matrix *matrix,
                           double *low, double *high)
{
    const double nearly_all = 0.99, far = 1.5, least_share = 0.2;
    double usual = stats_percentile(matrix->sorted, matrix->nvalues, nearly_all);
    size_t n = matrix->nvalues;
    usual = fmax(usual, figure->range[1]);
    while (matrix->sorted[n - 1] > far * usual)
        n--;
    bool own = figure->range[0] == figure->range[1];
    *low = own ? matrix->sorted[0] : figure->range[0];
    *high = own ? matrix->sorted[n - 1] : fmax(matrix->sorted[n - 1], figure->range[1]);
    double middle = (*low + *high) / 2;
    if (*high - *low < least_share * middle) {
        *low = middle * (1 - least_share / 2);
        *high = middle * (1 + least_share / 2);
    }
    return matrix->nvalues - n;
}

struct shown {
    const struct figure_data *data;
    const struct matrix *matrix;
};

/* "3", or "1 d2h" where the lines are split. */
static const char *name_member(const void *arg, unsigned axis, unsigned place)
{
    const char *text = "";
    const struct shown *shown = arg;
    const struct bench_figure *figure = shown->data->figure;
    unsigned splits = axis == DOWN ? count_splits(figure) : 1;
    for (unsigned at = 0; at < BITSET_BITS; at++)
        if (bitset_test(&shown->matrix->members[axis], at) &&
            shown->matrix->place[axis][at] == place)
            text = str_fmt("%u%s%s", at / splits, splits > 1 ? " " : "",
                           splits > 1 ? shown->data->bench->dims[figure->split].labels[at % splits]
                                      : "");
    return text;
}

/* "393.8", or "4.98 ms". */
static const char *format_value(const struct bench_figure *figure, double value)
{
    return figure->y.ticks == FIGURE_TICKS_US ? units_seconds(value * 1e-6)
                                              : str_fmt("%.*f", figure->digits, value);
}

static const char *format_cell(const void *arg, size_t cell)
{
    const struct shown *shown = arg;
    return format_value(shown->data->figure, shown->matrix->value[cell]);
}

static void put_map(const struct figure_data *data, const struct arm *arm,
                    const struct matrix *matrix, FILE *out)
{
    const struct bench_figure *figure = data->figure;
    const struct shown shown = {data, matrix};
    struct heat heat = {.n = {matrix->n[ACROSS], matrix->n[DOWN]},
                        .value = matrix->value,
                        .colours = figure->colours,
                        .labels = {figure->x.label, figure->y.label},
                        .ticks = figure->y.ticks,
                        .printed_most = PRINTED_MOST,
                        .arg = &shown,
                        .name = name_member,
                        .format_cell = format_cell};
    size_t beyond = choose_range(figure, matrix, &heat.low, &heat.high);
    double median = stats_percentile(matrix->sorted, matrix->nvalues, 0.5);
    const char *how = str_fmt("%s. Least %s, median %s, most %s", figure->how,
                              format_value(figure, matrix->sorted[0]), format_value(figure, median),
                              format_value(figure, matrix->sorted[matrix->nvalues - 1]));
    const char *rest = dat_format_only(data, arm);
    if (beyond)
        str_add(&rest, ". ", "Beyond the scale, in the colour of its end: %zu of %zu values",
                beyond, matrix->nvalues);
    dat_put_figure_heading(data, arm, how, rest, HEAT_COLUMNS, out);
    heat_put(&heat, out);
}

int figure_heat(const struct figure_data *data, FILE *out, struct err *err)
{
    const struct bench_figure *figure = data->figure;
    const struct arm *arm = dat_find_arm(data, data->figure->metric);
    if (!arm)
        return err_set(err, -ENODATA, "the run has no value of %s", figure->metric);
    struct matrix *matrix = calloc(1, sizeof(*matrix));
    if (!matrix)
        return err_set(err, -ENOMEM, "out of memory for a map of %s", figure->metric);
    int rc = make_matrix(data, arm, matrix, err);
    if (!rc)
        put_map(data, arm, matrix, out);
    free(matrix->sorted);
    free(matrix->value);
    free(matrix);
    return rc;
}
