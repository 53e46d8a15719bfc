/* Figures of the kind FIGURE_BARS: places along the axis, and one or more bars at each place. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/names.h"
#include "harness/show/figures/series.h"

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
