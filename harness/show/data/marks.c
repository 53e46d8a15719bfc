#include "harness/show/data/marks.h"

#include <math.h>
#include <string.h>

#include "harness/lib/base/units.h"

enum { MARKS_MOST = 16, MARK_ROWS = 5 };

struct mark {
    double value;
    bool solid;
    char text[48];
    /* Where it stands, in shares of the plot's width. */
    double at, from, to; /* the line; its text */
    bool left;           /* the text ends at the line, else it begins there */
    int row;             /* of the text, from 0: the line reaches up to it */
};

/* "felt 32.6 MiB", "reported L1 48 KiB". */
static void say_mark(const struct figure_data *data, const struct figure_mark *kind,
                     const struct row *row, char *buf, size_t size)
{
    char part[DIMS_KEY_MAX] = "", value[32];
    bool known = kind->dim && dims_has(&row->dims, kind->dim);
    if (known)
        (void)dims_value(row->arm->bench, &row->dims, kind->dim, part);
    if (data->figure->x.bytes)
        (void)units_format_bytes((uint64_t)row->median, value, sizeof(value));
    else
        (void)snprintf(value, sizeof(value), "%.3g %.20s", row->median, row->unit);
    (void)snprintf(buf, size, "%s%s%s%.8s %s", kind->text, known ? " " : "",
                   known ? kind->before : "", part, value);
}

/* Appends the marks of one kind, by ascending value; returns the new number of marks. */
static size_t add_marks(const struct figure_data *data, const struct arm *arm,
                        const struct figure_mark *kind, struct mark *marks, size_t n)
{
    size_t at = 0;
    for (const struct row *row;
         n < MARKS_MOST && (row = rows_next(&data->analysis->rows, arm, kind->metric, &at));) {
        struct mark mark = {.value = row->median, .solid = kind->solid};
        say_mark(data, kind, row, mark.text, sizeof(mark.text));
        size_t to = n++;
        for (; to > 0 && marks[to - 1].value > mark.value; to--)
            marks[to] = marks[to - 1];
        marks[to] = mark;
    }
    return n;
}

/* Texts go to the right of their lines where there is room. */
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

void marks_put(const struct figure_data *data, const struct arm *arm, const double ends[static 2],
               FILE *out)
{
    struct mark marks[MARKS_MOST];
    const struct figure_mark *kind = data->figure->marks;
    size_t n = 0, found = 0;
    for (; kind && kind->metric; kind++)
        found = add_marks(data, arm, kind, marks, found);
    for (size_t i = 0; i < found; i++) {
        measure_mark(data->figure->x.log, ends, &marks[i]);
        if (marks[i].at >= 0 && marks[i].at <= 1)
            marks[n++] = marks[i];
    }
    arrange_marks(marks, n);
    dat_block("marks", "x solid row left text", out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%.9g %d %d %d %s\n", marks[i].value, marks[i].solid, marks[i].row,
                      marks[i].left, dat_text(marks[i].text, sizeof(marks[i].text)).quoted);
}
