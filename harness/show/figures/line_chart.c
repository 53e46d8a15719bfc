/* Figures of the kind FIGURE_LINES: a line for each key, in one panel or in several. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/str.h"
#include "harness/lib/units.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/series.h"

/* An axis whose low end is below this share of the high end begins at 0: readers compare
 * heights. */
#define NEAR_ZERO 0.3

/* Most names: the line styles of plots/common.gp, one per placement and one for a baseline. */
enum { LINES_MOST = PLACEMENTS + 1 };

struct chart {
    struct series_list list; /* what is drawn */
    size_t left_out;         /* number of lines without room */
    struct curves curves;
};

static size_t find_place(struct names *names, const char *text, size_t most)
{
    size_t at = names_place(names, text);
    names->n = names->n > most ? most : names->n;
    return at < most ? at : NAMES_MOST;
}

/* The panel's name: dimensions that do not distinguish lines, and the arm if there are several. */
static const char *format_panel(const struct figure_data *data, const struct series *series,
                                const struct dims *rest)
{
    const char *text = format_part(data->result, series->arm, &series->dims);
    const char *left = format_in_part(data->result, series->arm, rest);
    return str_fmt("%s%s%s", text, text[0] && left[0] ? ", " : "", left);
}

/* Places a line. Without figure->series, each part of the run has a panel. */
static bool place(const struct figure_data *data, struct series *series, struct chart *chart)
{
    struct dims own, rest;
    bool in_series = data->figure->series[0];
    series_split(data->figure, &series->dims, &own, &rest);
    const char *panel = in_series ? format_panel(data, series, &rest)
                                  : format_part(data->result, series->arm, &own);
    const char *name = in_series ? format_dims(data->bench, &own)
                                 : format_in_part(data->result, series->arm, &own);
    series->panel = find_place(&chart->curves.panels, panel, NAMES_MOST);
    series->name = find_place(&chart->curves.names, name, LINES_MOST);
    return series->panel < NAMES_MOST && series->name < NAMES_MOST;
}

/* How many earlier lines belong to the same arm. */
static size_t rank_in_arm(const struct series_list *list, size_t line)
{
    size_t rank = 0;
    for (size_t i = 0; i < line; i++)
        rank += list->series[i].arm == list->series[line].arm;
    return rank;
}

/*
 * Places the first line of every arm before any second line. So each placement is visible even if
 * there is no room for all lines.
 */
static void place_all(const struct figure_data *data, struct chart *chart)
{
    size_t n = chart->list.n, placed = 0;
    struct series *series = chart->list.series;
    for (size_t rank = 0; placed < n; rank++)
        for (size_t i = 0; i < n; i++)
            if (rank_in_arm(&chart->list, i) == rank) {
                series[i].drawn = place(data, &series[i], chart);
                placed++;
            }
    chart->list.n = 0;
    for (size_t i = 0; i < n; i++)
        if (series[i].drawn)
            series[chart->list.n++] = series[i];
        else
            free(series[i].points);
    chart->left_out = n - chart->list.n;
}

/* Extends the range to `value`. fmin and fmax ignore NaN, such as the interval of one round. */
static void extend_range(double ends[static 2], double value)
{
    ends[0] = fmin(ends[0], value);
    ends[1] = fmax(ends[1], value);
}

/* Gives a linear axis room at its ends, but not below 0 if it begins there. */
static void pad_axis(const struct figure_axis *axis, double room, double ends[static 2])
{
    if (axis->log)
        return;
    extend_range(ends, axis->from);
    extend_range(ends, 1.1 * axis->from);
    double more = room * (ends[1] - ends[0]);
    ends[1] += more;
    if (ends[0] < 0 || axis->from > 0)
        ends[0] = ends[0] >= 0 && ends[0] < NEAR_ZERO * ends[1] ? 0 : ends[0] - more;
}

static bool is_axis(const struct figure_axis *axis, const double ends[static 2])
{
    return isfinite(ends[0]) && isfinite(ends[1]) && (!axis->log || ends[0] > 0);
}

/* -ENODATA if the values make no axes. */
static int find_ends(const struct figure_data *data, struct chart *chart, struct err *err)
{
    const struct bench_figure *figure = data->figure;
    chart->curves.x_ends[0] = chart->curves.y_ends[0] = INFINITY;
    chart->curves.x_ends[1] = chart->curves.y_ends[1] = -INFINITY;
    for (size_t i = 0; i < chart->list.n; i++)
        for (size_t k = 0; k < chart->list.series[i].n; k++) {
            const struct series_point *point = &chart->list.series[i].points[k];
            extend_range(chart->curves.x_ends, point->x);
            extend_range(chart->curves.y_ends, point->row->median);
            extend_range(chart->curves.y_ends, point->row->ci_low);
            extend_range(chart->curves.y_ends, point->row->ci_high);
        }
    if (!is_axis(&figure->x, chart->curves.x_ends) || !is_axis(&figure->y, chart->curves.y_ends))
        return err_set(err, -ENODATA, "no value of %s fits its axes", figure->metric);
    pad_axis(&figure->x, 0.05, chart->curves.x_ends);
    pad_axis(&figure->y, 0.12, chart->curves.y_ends);
    if (!(chart->curves.x_ends[0] < chart->curves.x_ends[1]) && !figure->series[0])
        return err_set(err, -ENODATA, "one %s makes no line", dim_name(data->bench, figure->x.dim));
    if (figure->y.log) {
        chart->curves.y_ends[0] = dat_round_125(chart->curves.y_ends[0] / 1.02, false);
        chart->curves.y_ends[1] = dat_round_125(chart->curves.y_ends[1] * 1.02, true);
    }
    return 0;
}

static void put_heading(const struct figure_data *data, struct chart *chart, FILE *out)
{
    const struct bench_figure *figure = data->figure;
    const struct arm *arm = chart->list.series[0].arm;
    const char *note = figure->note ? figure->note : "";
    char rest[160];
    const char *over = str_fmt("Over %s", device_infos[arm_device(data->result, arm)].title);
    (void)snprintf(rest, sizeof(rest), "%s", note);
    if (chart->left_out)
        (void)snprintf(rest, sizeof(rest), "%zu more lines are in rows.csv%s%s", chart->left_out,
                       note[0] ? ". " : "", note);
    const char *first = figure->how ? figure->how : over;
    dat_put_figure_heading(data, arm, figure->steps ? first : dat_format_rounds(data, first, "s"),
                           rest, CURVES_COLUMNS, out);
    chart->curves.n = chart->list.n;
    chart->curves.x = figure->x;
    chart->curves.y = figure->y;
    chart->curves.steps = figure->steps;
    curves_put_axes(&chart->curves, out);
    for (size_t i = 0; i < chart->list.n; i++)
        (void)fprintf(out, "%zu %zu %zu\n", i, chart->list.series[i].panel,
                      chart->list.series[i].name);
}

/*
 * The height of the line at x; NaN: x is outside the line. The line connects medians of rounds and
 * x is a median of its own, so the height need not be `wanted`. Returns the height closest to
 * `wanted`.
 */
static double height_at(const struct series *series, double x, double wanted)
{
    double best = NAN;
    for (size_t i = 0; i + 1 < series->n; i++) {
        const struct series_point *from = &series->points[i], *to = &series->points[i + 1];
        double share = to->x == from->x ? 0 : (x - from->x) / (to->x - from->x);
        double height = from->row->median + share * (to->row->median - from->row->median);
        if (share >= 0 && share <= 1 && !(fabs(best - wanted) <= fabs(height - wanted)))
            best = height;
    }
    return best;
}

static void put_crosses(const struct figure_data *data, const struct chart *chart, FILE *out)
{
    const char *metric = data->figure->cross.metric, *what = data->figure->cross.text;
    struct marks marks = {0};
    marks_collect(data, chart->list.series[0].arm, &marks);
    dat_block("crosses", "x y", out);
    for (size_t i = 0; metric && i < chart->list.n; i++) {
        const struct series *series = &chart->list.series[i];
        const struct row *row = rows_at(&data->analysis->rows, series->arm, metric, &series->dims);
        if (!row)
            continue;
        const char *text = str_fmt("%s %s %s", what, units_plain(row->median, 3), row->unit);
        marks_add(&marks, row->median, false, text);
        double wanted = data->figure->cross.rise * series->points[0].row->median;
        (void)fprintf(out, "%.9g %.9g\n", row->median, height_at(series, row->median, wanted));
    }
    marks_put(&marks, data->figure->x.log, chart->curves.x_ends, out);
}

/* Histograms have no intervals: one at the end of a bin would seem to belong to the next bin. */
static void put_points(const struct series *series, bool steps, FILE *out)
{
    for (size_t i = 0; i < series->n; i++) {
        const struct row *row = series->points[i].row;
        curves_put_point(series->points[i].x, row->median, steps ? NAN : row->ci_low,
                         steps ? NAN : row->ci_high, out);
    }
}

int figure_lines(const struct figure_data *data, FILE *out, struct err *err)
{
    struct chart chart = {0};
    int rc = series_make(data, &chart.list, err);
    if (!rc) {
        place_all(data, &chart);
        rc = find_ends(data, &chart, err);
    }
    if (!rc) {
        put_heading(data, &chart, out);
        put_crosses(data, &chart, out);
        for (size_t i = 0; i < chart.list.n; i++) {
            curves_put_line(i, out);
            put_points(&chart.list.series[i], data->figure->steps, out);
        }
    }
    series_free(&chart.list);
    return rc;
}
