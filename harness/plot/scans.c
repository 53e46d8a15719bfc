/* Line and bar figures of scans: latency over size, latency over load, bandwidth, thrashing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/units.h"
#include "harness/plot/dat.h"
#include "harness/plot/series.h"

enum { LINES_MOST = 6, NAME_MOST = 48 };

/* fmin and fmax below pass over what is not a number, such as an interval over one round. */

/* Axes that hold all points of the lines that are drawn. */
struct axes {
    double x_low, x_high, y_low, y_high;
};

static void axes_hold(struct axes *axes, double x, double y)
{
    axes->x_low = fmin(axes->x_low, x);
    axes->x_high = fmax(axes->x_high, x);
    axes->y_low = fmin(axes->y_low, y);
    axes->y_high = fmax(axes->y_high, y);
}

static const struct axes empty_axes = {INFINITY, -INFINITY, INFINITY, -INFINITY};

static size_t lines_drawn(const struct series_list *list)
{
    return list->n < LINES_MOST ? list->n : LINES_MOST;
}

/* For the footnote: what the figure leaves out, before `rest`. Returns buf. */
static char *say_left_out(const struct series_list *list, const char *rest, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s", rest);
    if (list->n > LINES_MOST)
        (void)snprintf(buf, size, "%zu more lines are in rows.csv%s%s", list->n - LINES_MOST,
                       rest[0] ? ". " : "", rest);
    return buf;
}

/* A size at which a cache ends, with its text. */
struct mark {
    double size_bytes;
    bool felt; /* else reported */
    char text[48];
    /* Where it stands, in shares of the plot's width. */
    double at, from, to; /* the line; its text */
    bool left;           /* the text ends at the line, else it begins there */
    int row;             /* of the text, from 0: the line reaches up to it */
};

enum { MARKS_MOST = 16, MARK_ROWS = 5 };

/* Appends the marks of one metric of caches; returns the new number of marks. */
static size_t add_marks(const struct figure_data *data, const struct arm *arm, bool felt,
                        struct mark *marks, size_t n)
{
    size_t at = 0;
    const char *metric = felt ? "cache_size" : "cache_size_reported";
    for (const struct row *row;
         n < MARKS_MOST && (row = key_next_row(data->rows, arm, metric, &at));) {
        char key[VALUE_KEY_MAX], level[VALUE_KEY_MAX] = "", bytes[32];
        bool known = !felt && key_get(key_copy(row, key), "level", level);
        struct mark mark = {.size_bytes = row->median, .felt = felt};
        (void)snprintf(mark.text, sizeof(mark.text), "%s%s%.8s %s", felt ? "felt" : "reported",
                       known ? " L" : "", known ? level : "",
                       units_format_bytes((uint64_t)row->median, bytes, sizeof(bytes)));
        size_t to = n++;
        for (; to > 0 && marks[to - 1].size_bytes > mark.size_bytes; to--)
            marks[to] = marks[to - 1];
        marks[to] = mark;
    }
    return n;
}

/* Texts go to the right of their lines where there is room. */
static void measure_mark(const struct axes *axes, struct mark *mark)
{
    const double char_share = 0.0092;
    double width = char_share * (double)(strlen(mark->text) + 1);
    mark->at = log(mark->size_bytes / axes->x_low) / log(axes->x_high / axes->x_low);
    mark->left = mark->at + width > 1;
    mark->from = mark->left ? mark->at - width : mark->at;
    mark->to = mark->left ? mark->at : mark->at + width;
}

/* Whether a text would run into another one, or be crossed by its line. */
static bool must_rise(const struct mark *mark, const struct mark *other)
{
    bool crossed = other->at >= mark->from && other->at <= mark->to && other->row >= mark->row;
    bool overlaps = other->from < mark->to && mark->from < other->to && other->row == mark->row;
    return crossed || (overlaps && mark->at < other->at);
}

/* Raises texts until they are clear of each other; a row that there is not is the last one. */
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

/* Columns: size, 1 = felt, row of the text (0 the lowest), 1 = text goes to the left, text. */
static void put_marks(const struct figure_data *data, const struct arm *arm,
                      const struct axes *axes, FILE *out)
{
    struct mark marks[MARKS_MOST];
    size_t n = 0, found = add_marks(data, arm, true, marks, 0);
    found = add_marks(data, arm, false, marks, found);
    for (size_t i = 0; i < found; i++) {
        measure_mark(axes, &marks[i]);
        if (marks[i].at >= 0 && marks[i].at <= 1)
            marks[n++] = marks[i];
    }
    arrange_marks(marks, n);
    dat_start_block(out, "NaN 0 0 0 \"\"");
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(out, "%.9g %d %d %d", marks[i].size_bytes, marks[i].felt, marks[i].row,
                      marks[i].left);
        dat_put_text(out, marks[i].text, sizeof(marks[i].text));
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

int figure_latency_curve(const struct figure_data *data, FILE *out, struct err *err)
{
    struct series_list list;
    struct axes axes = empty_axes;
    char how[160], rest[120];
    int rc = series_make(data, "latency", "size", &list, err);
    for (size_t i = 0; !rc && i < lines_drawn(&list); i++)
        for (size_t k = 0; k < list.series[i].n; k++) {
            const struct row *row = list.series[i].points[k].row;
            axes_hold(&axes, list.series[i].points[k].x, fmax(row->median, row->ci_high));
            axes_hold(&axes, list.series[i].points[k].x, fmin(row->median, row->ci_low));
        }
    if (!rc && !(axes.x_low > 0 && axes.x_low < axes.x_high && axes.y_low > 0))
        rc = err_set(err, -ENODATA, "one size makes no curve");
    if (rc)
        goto free_list;
    dat_put_scan_heading(
        data, list.series[0].arm, "latency of a load over the size of the working set",
        dat_say_rounds(data, "One thread, dependent loads in random order", how, sizeof(how)),
        say_left_out(&list, "felt: where the curve steps up, reported: what the system says", rest,
                     sizeof(rest)),
        out);
    (void)fprintf(out, " %zu %.9g %.9g %.9g %.9g\n", lines_drawn(&list), axes.x_low, axes.x_high,
                  dat_round_125(axes.y_low / 1.02, false), dat_round_125(axes.y_high * 1.02, true));
    dat_end_block(out);
    series_put_names(data, &list, lines_drawn(&list), out);
    put_marks(data, list.series[0].arm, &axes, out);
    for (size_t i = 0; i < lines_drawn(&list); i++)
        series_put_points(&list.series[i], out);
free_list:
    series_free(&list);
    return rc;
}

/* Columns: GB/s, ns, ci_low, ci_high of ns. */
static void put_loaded_line(const struct figure_data *data, const struct series *series, FILE *out)
{
    dat_start_block(out, "NaN NaN NaN NaN");
    for (size_t i = 0; i < series->n; i++) {
        const struct row *row = series->points[i].row;
        (void)fprintf(out, "%.9g %.9g %.9g %.9g\n",
                      series_other(data, series, &series->points[i], "loaded_bandwidth"),
                      row->median, row->ci_low, row->ci_high);
    }
    dat_end_block(out);
}

/* Columns: number of the line, GB/s, ns, text. The knee is where latency is 1.5 times idle. */
static void put_knees(const struct figure_data *data, const struct series_list *list, FILE *out)
{
    dat_start_block(out, "NaN NaN NaN \"\"");
    for (size_t i = 0; i < lines_drawn(list); i++) {
        const struct series *series = &list->series[i];
        size_t at = 0;
        for (const struct row *row;
             (row = key_next_row(data->rows, series->arm, "knee_bandwidth", &at));) {
            char key[VALUE_KEY_MAX], text[64];
            if (strcmp(key_copy(row, key), series->key) != 0)
                continue;
            (void)snprintf(text, sizeof(text), "knee: %.3g GB/s", row->median);
            (void)fprintf(out, "%zu %.9g %.9g", i, row->median,
                          1.5 * series->points[0].row->median);
            dat_put_text(out, text, sizeof(text));
            (void)fputc('\n', out);
        }
    }
    dat_end_block(out);
}

int figure_loaded_latency(const struct figure_data *data, FILE *out, struct err *err)
{
    struct series_list list;
    struct axes axes = empty_axes;
    char how[160], rest[120];
    int rc = series_make(data, "loaded_latency", "step", &list, err);
    for (size_t i = 0; !rc && i < lines_drawn(&list); i++)
        for (size_t k = 0; k < list.series[i].n; k++) {
            const struct series_point *point = &list.series[i].points[k];
            axes_hold(&axes, series_other(data, &list.series[i], point, "loaded_bandwidth"),
                      fmax(point->row->median, point->row->ci_high));
        }
    if (!rc && !(axes.x_high > 0))
        rc = err_set(err, -ENODATA, "no load was measured");
    if (rc)
        goto free_list;
    dat_put_scan_heading(
        data, list.series[0].arm, "latency of memory while other CPUs use its bandwidth",
        dat_say_rounds(data, "One CPU follows a chain, the others load", how, sizeof(how)),
        say_left_out(&list, "", rest, sizeof(rest)), out);
    (void)fprintf(out, " %zu %.9g %.9g\n", lines_drawn(&list), 1.05 * axes.x_high,
                  1.12 * axes.y_high);
    dat_end_block(out);
    series_put_names(data, &list, lines_drawn(&list), out);
    put_knees(data, &list, out);
    for (size_t i = 0; i < lines_drawn(&list); i++)
        put_loaded_line(data, &list.series[i], out);
free_list:
    series_free(&list);
    return rc;
}

/* Distinct texts in the order in which they came. */
struct names {
    size_t n;
    char name[LINES_MOST + 10][VALUE_KEY_MAX];
};

/* The place of a name, added where it is new; the number of places when there is no more room. */
static size_t names_place(struct names *names, const char *name)
{
    size_t i = 0, room = sizeof(names->name) / sizeof(names->name[0]);
    while (i < names->n && strcmp(names->name[i], name) != 0)
        i++;
    if (i == names->n && i < room)
        (void)snprintf(names->name[names->n++], VALUE_KEY_MAX, "%s", name);
    return i;
}

static void put_name_list(const struct figure_data *data, const struct names *names, FILE *out)
{
    dat_start_block(out, "-1 \"\"");
    for (size_t i = 0; i < names->n; i++) {
        char text[96];
        (void)fprintf(out, "%zu", i);
        dat_put_text(out, key_say(data->result, NULL, names->name[i], text, sizeof(text)),
                     NAME_MOST);
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

/* One bar: which operation, and which number of threads and kind of stores. */
struct bar {
    size_t op, kind;
    const struct row *row;
};

/* Loads alone have no kind of stores: their bar is the one of plain stores. */
static void kind_of(const char *key, char kind[static VALUE_KEY_MAX])
{
    char stores[VALUE_KEY_MAX];
    double threads = key_number(key, "threads");
    bool nt = key_get(key, "stores", stores) && strcmp(stores, "nt") == 0;
    (void)snprintf(kind, VALUE_KEY_MAX, "threads=%g;stores=%s", threads, nt ? "nt" : "plain");
}

enum { BARS_MOST = 64 };

static size_t collect_bars(const struct figure_data *data, const struct arm *arm, struct names *ops,
                           struct names *kinds, struct bar bars[static BARS_MOST])
{
    size_t n = 0, at = 0;
    for (const struct row *row;
         n < BARS_MOST && (row = key_next_row(data->rows, arm, "bandwidth", &at));) {
        char key[VALUE_KEY_MAX], op[VALUE_KEY_MAX], kind[VALUE_KEY_MAX];
        if (!key_get(key_copy(row, key), "op", op))
            continue;
        kind_of(key, kind);
        bars[n] = (struct bar){names_place(ops, op), names_place(kinds, kind), row};
        if (bars[n].kind < LINES_MOST)
            n++;
    }
    if (kinds->n > LINES_MOST)
        kinds->n = LINES_MOST;
    return n;
}

static void put_bars(const struct bar *bars, size_t n, FILE *out)
{
    dat_start_block(out, "NaN NaN NaN NaN NaN \"\"");
    for (size_t i = 0; i < n; i++) {
        const struct row *row = bars[i].row;
        (void)fprintf(out, "%zu %zu %.9g %.9g %.9g \"%.*f\"\n", bars[i].op, bars[i].kind,
                      row->median, row->ci_low, row->ci_high, row->median < 99.5, row->median);
    }
    dat_end_block(out);
}

static void put_kind_names(const struct names *kinds, FILE *out)
{
    dat_start_block(out, "-1 \"\"");
    for (size_t i = 0; i < kinds->n; i++) {
        char text[64], stores[VALUE_KEY_MAX];
        double threads = key_number(kinds->name[i], "threads");
        (void)snprintf(text, sizeof(text), "%g thread%s, %s", threads, threads == 1 ? "" : "s",
                       key_get(kinds->name[i], "stores", stores));
        (void)fprintf(out, "%zu", i);
        dat_put_text(out, text, sizeof(text));
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

int figure_bandwidth(const struct figure_data *data, FILE *out, struct err *err)
{
    struct names ops = {0}, kinds = {0};
    struct bar bars[BARS_MOST];
    char how[160];
    const struct arm *arm = key_find_arm(data->result, data->rows, "bandwidth");
    size_t n = arm ? collect_bars(data, arm, &ops, &kinds, bars) : 0;
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fmax(bars[i].row->median, bars[i].row->ci_high));
    if (!(most > 0))
        return err_set(err, -ENODATA, "the run has no bandwidth of an operation");
    dat_put_scan_heading(
        data, arm, "bandwidth of memory",
        dat_say_rounds(data, "STREAM bytes. nt: non-temporal stores", how, sizeof(how)), "", out);
    (void)fprintf(out, " %zu %zu %.9g\n", ops.n, kinds.n, 1.08 * most);
    dat_end_block(out);
    dat_start_block(out, "-1 \"\"");
    for (size_t i = 0; i < ops.n; i++) {
        (void)fprintf(out, "%zu", i);
        dat_put_text(out, ops.name[i], VALUE_KEY_MAX);
        (void)fputc('\n', out);
    }
    dat_end_block(out);
    put_kind_names(&kinds, out);
    put_bars(bars, n, out);
    return 0;
}

/* Which panel and which line a series of cache_thrash is. */
static void place_thrash(const struct series *series, struct names *panels, struct names *lines,
                         size_t *panel, size_t *line)
{
    char key[VALUE_KEY_MAX], where[VALUE_KEY_MAX], text[VALUE_KEY_MAX];
    memcpy(key, series->key, sizeof(key));
    (void)snprintf(text, sizeof(text), "where=%.40s",
                   key_get(key, "where", where) ? where : "anywhere");
    key_drop(key, "where");
    *panel = names_place(panels, key);
    *line = names_place(lines, text);
}

int figure_cache_thrash(const struct figure_data *data, FILE *out, struct err *err)
{
    struct series_list list;
    struct names panels = {0}, lines = {0};
    struct axes axes = {0, 1, 1, 1.1};
    size_t panel, line;
    char how[160];
    int rc = series_make(data, "victim_slowdown", "n", &list, err);
    if (rc)
        goto free_list;
    for (size_t i = 0; i < list.n; i++) {
        place_thrash(&list.series[i], &panels, &lines, &panel, &line);
        for (size_t k = 0; k < list.series[i].n; k++) {
            const struct row *row = list.series[i].points[k].row;
            axes_hold(&axes, list.series[i].points[k].x, fmax(row->median, row->ci_high));
            axes_hold(&axes, 1, fmin(row->median, row->ci_low));
        }
    }
    dat_put_scan_heading(
        data, list.series[0].arm, "what aggressors on other CPUs cost a victim",
        dat_say_rounds(data, "Time of the victim with / without them", how, sizeof(how)), "", out);
    (void)fprintf(out, " %zu %zu %zu %.9g %.9g %.9g\n", panels.n, lines.n, list.n, axes.x_high,
                  axes.y_low, axes.y_high);
    dat_end_block(out);
    put_name_list(data, &panels, out);
    put_name_list(data, &lines, out);
    dat_start_block(out, "-1 0 0");
    for (size_t i = 0; i < list.n; i++) {
        place_thrash(&list.series[i], &panels, &lines, &panel, &line);
        (void)fprintf(out, "%zu %zu %zu\n", i, panel, line);
    }
    dat_end_block(out);
    for (size_t i = 0; i < list.n; i++)
        series_put_points(&list.series[i], out);
free_list:
    series_free(&list);
    return rc;
}
