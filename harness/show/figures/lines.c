#include "harness/show/figures/lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/series.h"

enum { LABEL_MOST = 30 };

/* Same benchmark and parameters: equal pointers mean equal parameters (struct arm). */
static bool same_part(const struct arm *a, const struct arm *b)
{
    return a->bench == b->bench && a->params == b->params;
}

static bool is_shown(const struct arm *arm)
{
    return !arm->is_baseline && !arm->bench->scan && arm->plan.status == PLAN_OK;
}

/* The index of the first arm shown with the same part, or with the same part and placement. */
static size_t first_like(const struct result *result, const struct arm *arm, bool same_placement)
{
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *other = &result->arms[i];
        if (is_shown(other) && same_part(other, arm) &&
            (!same_placement || other->placement == arm->placement))
            return i;
    }
    return result->narms;
}

static bool goes_below(const struct result *result, const struct arm *a, const struct arm *b)
{
    size_t part_a = first_like(result, a, false), part_b = first_like(result, b, false);
    if (part_a != part_b)
        return part_a < part_b;
    size_t place_a = first_like(result, a, true), place_b = first_like(result, b, true);
    return place_a != place_b ? place_a < place_b : a->planned_workers <= b->planned_workers;
}

int lines_make(const struct figure_data *data, struct lines *lines, struct err *err)
{
    const struct result *result = data->result;
    *lines = (struct lines){0};
    /* Room for one more baseline per arm. */
    lines->arm = calloc(2 * result->narms + 1, sizeof(*lines->arm));
    if (!lines->arm)
        return err_set(err, -ENOMEM, "out of memory for %zu arms", result->narms);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (!is_shown(arm))
            continue;
        size_t at = lines->n++;
        for (; at > 0 && !goes_below(result, &result->arms[lines->arm[at - 1]], arm); at--)
            lines->arm[at] = lines->arm[at - 1];
        lines->arm[at] = i;
        bool same = lines->n == 1 || lines->workers == arm->planned_workers;
        lines->workers = same ? arm->planned_workers : 0;
    }
    if (lines->n)
        return 0;
    lines_free(lines);
    return err_set(err, -ENODATA, "the run has no arm that it could show");
}

void lines_free(struct lines *lines)
{
    free(lines->arm);
    *lines = (struct lines){0};
}

void lines_add_baselines(const struct figure_data *data, struct lines *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++) {
        int slice = data->analysis->rounds.arms[lines->arm[i]].baseline[BASELINE_SLICE];
        /* A slice baseline that is one of the run's own arms already has a line. */
        bool known = slice < 0 || !data->result->arms[slice].is_baseline;
        for (size_t k = 0; k < n; k++)
            known = known || lines->arm[k] == (size_t)slice;
        if (known)
            continue;
        memmove(&lines->arm[n + 1], &lines->arm[n], (lines->n - n) * sizeof(*lines->arm));
        lines->arm[n++] = (size_t)slice;
        lines->n++;
        i++;
    }
}

const struct arm *lines_arm(const struct figure_data *data, const struct lines *lines, size_t line)
{
    return &data->result->arms[lines->arm[line]];
}

/* A run without solo runs has no efficiency. */
static bool has_solo(const struct figure_data *data, const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        if (!isnan(rows_median(&data->analysis->rows, lines_arm(data, lines, i), "efficiency")))
            return true;
    return false;
}

double lines_lost(const struct figure_data *data, const struct lines *lines, size_t line)
{
    const struct arm *arm = lines_arm(data, lines, line);
    const struct arm_rounds *rounds = data->analysis->rounds.arms;
    double best = NAN;
    if (has_solo(data, lines))
        return 1 - rows_median(&data->analysis->rows, arm, "efficiency");
    for (size_t i = 0; i < lines->n; i++) {
        const struct arm *other = lines_arm(data, lines, i);
        if (same_part(other, arm) && other->planned_workers == arm->planned_workers)
            best = fmax(best, rounds[lines->arm[i]].rate);
    }
    return 1 - rounds[lines->arm[line]].rate / best;
}

const char *lines_lost_to(const struct figure_data *data, const struct lines *lines)
{
    return has_solo(data, lines) ? "Lost: 1 - parallel efficiency" : "Lost: relative to the best";
}

const char *lines_format_lost(const struct figure_data *data, const struct lines *lines,
                              size_t line)
{
    double lost = 100 * lines_lost(data, lines, line);
    bool cut_off = data->analysis->rounds.arms[lines->arm[line]].status == STATUS_CENSORED;
    if (lost < 0.05)
        return "no loss";
    if (!isnan(lost))
        return str_fmt("%s%.*f%% lost", cut_off ? "at least " : "", lost > 99 || lost < 10, lost);
    return "";
}

const char *lines_step_name(const struct figure_data *data, const struct lines *lines)
{
    const char *name = bench_step_name(lines_arm(data, lines, 0)->bench);
    for (size_t i = 1; i < lines->n; i++)
        if (strcmp(bench_step_name(lines_arm(data, lines, i)->bench), name) != 0)
            return "step";
    return name;
}

static bool has_several_benches(const struct result *result)
{
    for (size_t i = 1; i < result->narms; i++)
        if (result->arms[i].bench != result->arms[0].bench)
            return true;
    return false;
}

const char *lines_format_label(const struct figure_data *data, const struct lines *lines,
                               size_t line)
{
    const char *text = "";
    const struct arm *arm = lines_arm(data, lines, line);
    if (arm->is_baseline)
        text = str_fmt("solo 1/%u", arm->planned_workers);
    else
        text = placement_infos[arm->placement].name;
    if (!arm->is_baseline && !lines->workers)
        str_add(&text, ", ", "%u worker%s", arm->planned_workers,
                arm->planned_workers == 1 ? "" : "s");
    if (arm->variant)
        str_add(&text, ", ", "%s", arm->variant->name);
    if (has_several_benches(data->result))
        str_add(&text, ", ", "%s", arm->bench->name);
    const char *params = format_params(data->result, arm);
    if (params[0])
        str_add(&text, ", ", "%s", params);
    return text;
}

struct dat_text lines_text(const struct figure_data *data, const struct lines *lines, size_t line)
{
    return dat_text(lines_format_label(data, lines, line), LABEL_MOST);
}

const char *lines_format_why(const struct figure_data *data, const struct lines *lines, size_t line,
                             const char *metric)
{
    const struct arm_rounds *rounds = &data->analysis->rounds.arms[lines->arm[line]];
    const struct row *row = rows_find(&data->analysis->rows, lines_arm(data, lines, line), metric);
    bool from_row = rounds->n && row;
    const char *reason = from_row ? row->reason : rounds->reason;
    const char *status = status_name(from_row ? row->status : rounds->status);
    return str_fmt("%s: %.*s", reason[0] ? status : "not compared", DAT_REASON_MOST,
                   reason[0] ? reason : "no round in common with the others");
}

/* Figures of the kind FIGURE_LINES: a line for each key, in one panel or in several. */

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
