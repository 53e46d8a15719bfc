#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/dots.h"
#include "harness/show/figures/series.h"

/* Figures of the kind FIGURE_BARS: places along the axis, and one or more bars at each place. */

/* Beyond this ratio of values the axis is logarithmic, because short bars would be invisible. */
#define FAR 200

enum { KINDS_MOST = 6, BARS_MOST = NAMES_MOST * KINDS_MOST, LABEL_MOST = 60 };

struct bars {
    struct names places, kinds;
    size_t n;
    struct bar {
        size_t place, kind;
        const struct row *row;
    } bar[BARS_MOST];
};

/* Collects the bars. Places beyond NAMES_MOST and kinds beyond KINDS_MOST are left out. */
static void collect(const struct figure_data *data, const struct arm *arm, struct bars *bars)
{
    const struct bench_figure *figure = data->figure;
    size_t at = 0;
    for (const struct row *row; bars->n < BARS_MOST && (row = rows_next(&data->analysis->rows, arm,
                                                                        figure->metric, &at));) {
        struct dims own, rest, left;
        if (!dims_has(&row->shown, figure->x.dim) || !dims_agree(&row->shown, figure->only))
            continue;
        const char *place = dims_value(data->bench, &row->shown, figure->x.dim);
        left = dims_without(&row->shown, figure->x.dim);
        series_split(figure, &left, &own, &rest);
        struct bar *bar = &bars->bar[bars->n];
        *bar = (struct bar){names_place(&bars->places, place),
                            names_place(&bars->kinds, format_dims(data->bench, &own)), row};
        if (bar->place < NAMES_MOST && bar->kind < KINDS_MOST)
            bars->n++;
    }
    if (bars->kinds.n > KINDS_MOST)
        bars->kinds.n = KINDS_MOST;
}

/* Short, because bars are close to each other: 0.042, 0.4, 4.5, 129, 2.07M. */
static const char *format_value(double value)
{
    if (value < 0.95)
        return str_fmt("%.2g", value);
    if (value < 9999.5)
        return str_fmt("%.*f", value < 99.5, value);
    const char *si = units_si(value);
    size_t digits = strcspn(si, " ");
    return str_fmt("%.*s%s", (int)digits, si, si + digits + (si[digits] == ' '));
}

static bool has_bar(const struct bars *bars, size_t place, size_t kind)
{
    for (size_t i = 0; i < bars->n; i++)
        if (bars->bar[i].place == place && bars->bar[i].kind == kind)
            return true;
    return false;
}

/* Marks absent bars with "none", because a gap would look like 0. */
static void put_absent(const struct bars *bars, FILE *out)
{
    for (size_t place = 0; place < bars->places.n; place++)
        for (size_t kind = 0; kind < bars->kinds.n; kind++)
            if (!has_bar(bars, place, kind))
                (void)fprintf(out, "%zu %zu 0 NaN NaN \"none\"\n", place, kind);
}

static void put_bars(const struct bars *bars, FILE *out)
{
    dat_block("bars", BARS_COLUMNS, out);
    for (size_t i = 0; i < bars->n; i++) {
        const struct bar *bar = &bars->bar[i];
        const struct row *row = bar->row;
        (void)fprintf(out, "%zu %zu %.9g %.9g %.9g \"%s\"\n", bar->place, bar->kind, row->median,
                      row->ci_low, row->ci_high, format_value(row->median));
    }
    put_absent(bars, out);
}

int figure_bars(const struct figure_data *data, FILE *out, struct err *err)
{
    struct bars bars = {0};
    const struct bench_figure *figure = data->figure;
    const struct arm *arm = dat_find_arm(data, data->figure->metric);
    double least = INFINITY, most = 0;
    char label[LABEL_MOST + 1];
    if (arm)
        collect(data, arm, &bars);
    for (size_t i = 0; i < bars.n; i++) {
        least = fmin(least, bars.bar[i].row->median);
        most = fmax(most, fmax(bars.bar[i].row->median, bars.bar[i].row->ci_high));
    }
    if (!(most > 0))
        return err_set(err, -ENODATA, "the run has no %s of an %s", figure->metric,
                       dim_name(data->bench, figure->x.dim));
    const char *rest = dat_format_only(data, arm);
    if (figure->note)
        str_add(&rest, ". ", "%s", figure->note);
    bool log = least > 0 && most > FAR * least;
    (void)snprintf(label, sizeof(label), "%s%s", figure->y.label, log ? ", log scale" : "");
    dat_put_figure_heading(data, arm, dat_format_rounds(data, figure->how, "s"), rest, BARS_HEADING,
                           out);
    (void)fprintf(out, " %s %s %zu %zu %.9g %.9g\n", dat_text(figure->x.label, LABEL_MOST).quoted,
                  dat_text(label, LABEL_MOST).quoted, bars.places.n, bars.kinds.n,
                  log ? dat_round_125(most, true) : 1.08 * most,
                  log ? dat_round_125(least / 2, false) : 0);
    names_put(&bars.places, "places", out);
    names_put(&bars.kinds, "names", out);
    put_bars(&bars, out);
    return 0;
}

/* Figures of the kind FIGURE_DOTS: a panel per metric, a line per key, a dot per GPU. */

enum { COLOURS = 16, MARKS = 2 };

struct chart {
    const struct figure_data *data;
    const struct arm *arm;
    struct dots dots;
    unsigned units; /* highest GPU number plus 1 */
    bool has_both;  /* the figure uses both marks */
};

/* "sync, spin": the value's labels along the dimensions that make a line. */
static const char *format_line(const struct chart *chart, const struct figure_panel *panel,
                               const struct dims *at)
{
    const char *buf = "";
    for (size_t i = 0; i < FIGURE_SERIES && panel->lines[i]; i++)
        if (dims_has(at, panel->lines[i]))
            str_add(&buf, ", ", "%s", dims_value(chart->data->bench, at, panel->lines[i]));
    return buf;
}

static size_t find_line(struct chart *chart, unsigned panel, const char *label)
{
    struct dots *dots = &chart->dots;
    for (size_t i = 0; i < dots->nlines; i++)
        if (dots->lines[i].panel == panel && strcmp(dots->lines[i].label, label) == 0)
            return i;
    return dots_add_line(dots, panel, label);
}

/* The mark of a value: a diamond for the second label of `split`. */
static enum dot_mark mark_of(const struct bench_figure *figure, const struct dims *at)
{
    const struct dims diamond = DIMS({figure->split, 1});
    return figure->split && dims_has(at, figure->split) && dims_agree(at, &diamond) ? DOT_DIAMOND
                                                                                    : DOT_CIRCLE;
}

/* The number of a GPU, or -1. */
static int unit_of(const struct figure_data *data, const struct dims *at)
{
    int unit = dims_ordinal(data->bench, at, data->figure->x.dim);
    return unit < BENCH_NODES ? unit : -1;
}

/* GPUs go down from the top of a line; with two marks, the first has the upper half. */
static double height_of(const struct chart *chart, int unit, enum dot_mark mark)
{
    bool halves = chart->has_both;
    double step = (halves ? 0.36 : 0.72) / chart->units, middle = (chart->units - 1) / 2.0;
    return (middle - unit) * step + (!halves ? 0 : mark == DOT_CIRCLE ? 0.21 : -0.21);
}

static int add_row(struct chart *chart, unsigned panel, const struct figure_panel *of,
                   const struct row *row)
{
    const struct bench_figure *figure = chart->data->figure;
    int unit = unit_of(chart->data, &row->shown);
    if (unit < 0 || !dims_agree(&row->shown, of->only))
        return 0;
    const char *label = format_line(chart, of, &row->shown);
    size_t line = find_line(chart, panel, label);
    if (line == SIZE_MAX)
        return -ENOMEM;
    enum dot_mark mark = mark_of(figure, &row->shown);
    const struct dot dot = {line,
                            row->median,
                            row->ci_low,
                            row->ci_high,
                            height_of(chart, unit, mark),
                            (unsigned)unit % COLOURS,
                            mark};
    return dots_add(&chart->dots, &dot) ? 0 : -ENOMEM;
}

/* Sets the heading of the numbers at the right: the label's unit and the split, "GB/s alone". */
static void report_right(const struct chart *chart, struct dots_panel *panel)
{
    const struct figure_data *data = chart->data;
    const char *unit = strchr(panel->label, '(');
    unit = unit ? unit + 1 : "";
    for (int i = 0; i < 1 + chart->has_both; i++) {
        const struct dims split = DIMS({data->figure->split, i});
        const char *text = chart->has_both ? format_dims(data->bench, &split) : "";
        panel->right[i] = str_fmt("%.*s %.24s", (int)strcspn(unit, ",)"), unit, text);
    }
}

/* Adds a panel, unless it has no value. */
static int add_panel(struct chart *chart, const struct figure_panel *of)
{
    struct dots_panel panel = {.label = of->label, .log = of->log};
    report_right(chart, &panel);
    unsigned number = dots_add_panel(&chart->dots, &panel);
    size_t at = 0;
    int rc = 0;
    for (const struct row *row;
         number < DOTS_PANELS && !rc &&
         (row = rows_next(&chart->data->analysis->rows, chart->arm, of->metric, &at));)
        rc = add_row(chart, number, of, row);
    if (number < DOTS_PANELS && !chart->dots.panels[number].nlines)
        chart->dots.npanels--;
    return rc;
}

/* Sets `units` and `has_both`. */
static void count_units(struct chart *chart)
{
    const struct figure_data *data = chart->data;
    for (const struct figure_panel *panel = data->figure->panels; panel->metric; panel++) {
        size_t at = 0;
        for (const struct row *row;
             (row = rows_next(&data->analysis->rows, chart->arm, panel->metric, &at));) {
            int unit = unit_of(data, &row->shown);
            chart->has_both = chart->has_both || mark_of(data->figure, &row->shown) == DOT_DIAMOND;
            chart->units = unit >= (int)chart->units ? (unsigned)unit + 1 : chart->units;
        }
    }
}

/* "49.2 to 51.3"; a single value if both ends print the same. */
static const char *format_range(double least, double most)
{
    const char *low = dots_format(least);
    const char *high = dots_format(most);
    return str_fmt("%s%s%s", low, strcmp(low, high) ? " to " : "", strcmp(low, high) ? high : "");
}

static void report_values(struct dots *dots)
{
    for (size_t i = 0; i < dots->nlines; i++)
        for (int mark = 0; mark < MARKS; mark++) {
            struct dots_line *line = &dots->lines[i];
            if (line->least[mark] <= line->most[mark])
                line->text[mark] = format_range(line->least[mark], line->most[mark]);
        }
}

static void add_keys(struct chart *chart)
{
    const struct bench_figure *figure = chart->data->figure;
    chart->dots.ncolours = chart->units < COLOURS ? chart->units : COLOURS;
    for (unsigned unit = 0; unit < chart->dots.ncolours; unit++) {
        const char *text = str_fmt("%s %u%s", figure->x.label, unit,
                                   unit + COLOURS < chart->units ? ", and so on" : "");
        dots_add_key(&chart->dots, (int)unit, DOT_CIRCLE, text);
    }
    for (int i = 0; i < MARKS && chart->has_both; i++) {
        const struct dims split = DIMS({figure->split, i});
        dots_add_key(&chart->dots, -1, i ? DOT_DIAMOND : DOT_CIRCLE,
                     format_dims(chart->data->bench, &split));
    }
}

/* Lists GPUs without a value, and why: "GPU 1: failed: its memory is worn out". */
static void add_absent(const struct chart *chart, const char **text)
{
    const struct figure_data *data = chart->data;
    for (size_t i = 0; i < data->analysis->rows.n; i++) {
        const struct row *row = &data->analysis->rows.row[i];
        int unit = row->arm == chart->arm ? unit_of(data, &row->dims) : -1;
        if (unit >= 0 && isnan(row->median) && strcmp(row->metric, data->figure->metric) == 0)
            str_add(text, ". ", "%s %d: %s: %.*s", data->figure->x.label, unit,
                    status_name(row->status), DAT_REASON_MOST, row->reason);
    }
}

static int draw(struct chart *chart, FILE *out, struct err *err)
{
    const struct figure_data *data = chart->data;
    int rc = 0;
    count_units(chart);
    for (const struct figure_panel *panel = data->figure->panels; panel->metric && !rc; panel++)
        rc = add_panel(chart, panel);
    if (rc)
        return err_set(err, rc, "out of memory for the dots of %s", data->figure->name);
    if (!chart->dots.n)
        return err_set(err, -ENODATA, "the run has no %s of a %s", data->figure->metric,
                       data->figure->x.label);
    report_values(&chart->dots);
    add_keys(chart);
    const char *rest = data->figure->note ? data->figure->note : "";
    add_absent(chart, &rest);
    dat_put_figure_heading(data, chart->arm, dat_format_rounds(data, data->figure->how, "s"), rest,
                           DOTS_COLUMNS, out);
    dots_put(&chart->dots, out);
    return 0;
}

int figure_dots(const struct figure_data *data, FILE *out, struct err *err)
{
    struct chart chart = {.data = data};
    const struct figure_panel *panel = data->figure->panels;
    for (; panel->metric && !chart.arm; panel++)
        chart.arm = dat_find_arm(data, panel->metric);
    if (!chart.arm)
        return err_set(err, -ENODATA, "the run has no value of %s", data->figure->metric);
    int rc = draw(&chart, out, err);
    dots_free(&chart.dots);
    return rc;
}
