#include "harness/show/figures/dat.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/format.h"

enum { HOST_MOST = 48 };

struct dat_text dat_text(const char *text, size_t most)
{
    struct dat_text safe = {"\""};
    size_t n = 0;
    for (; text[n] && n < most && n < DAT_TEXT_MOST; n++) {
        unsigned char c = (unsigned char)text[n];
        bool is_safe = (c < 0x80 && isalnum(c)) || strchr(" ._:;/()+,-%", c);
        safe.quoted[n + 1] = is_safe ? text[n] : '_';
    }
    safe.quoted[n + 1] = '"';
    return safe;
}

void dat_begin(const char *title, const char *subtitle, const char *footnote, const char *columns,
               FILE *out)
{
    (void)fprintf(out, "title subtitle footnote %s\n%s %s %s", columns,
                  dat_text(title, DAT_TEXT_MOST).quoted, dat_text(subtitle, DAT_TEXT_MOST).quoted,
                  dat_text(footnote, DAT_TEXT_MOST).quoted);
}

void dat_block(const char *name, const char *columns, FILE *out)
{
    (void)fprintf(out, "\n\n# %s\n%s%s", name, columns, columns[0] ? "\n" : "");
}

/* The placement may have run with another number of workers. */
static bool is_possible(const struct result *result, enum placement placement)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].placement == placement && result->arms[i].plan.status == PLAN_OK)
            return true;
    return false;
}

/* "not on this machine: numa, pcores", or "". */
static const char *format_skipped(const struct result *result)
{
    bool skipped[PLACEMENTS] = {false};
    const char *text = "";
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->plan.status != PLAN_SKIPPED || skipped[arm->placement] ||
            is_possible(result, arm->placement))
            continue;
        str_add(&text, ", ", "%s%s",
                text[0] ? "" : "not on this machine: ", placement_infos[arm->placement].name);
        skipped[arm->placement] = true;
    }
    return text;
}

void dat_put_heading(const struct figure_data *data, const char *what, unsigned workers,
                     const char *how, const char *columns, FILE *out)
{
    enum device device = DEVICE_NONE;
    for (size_t i = 0; i < data->result->narms; i++)
        if (arm_device(data->result, &data->result->arms[i]) != DEVICE_NONE)
            device = arm_device(data->result, &data->result->arms[i]);
    const char *title =
        str_fmt("%.*s: %s%s", HOST_MOST, data->result->scenario, what, device_mark(device));
    const char *subtitle = str_fmt("%.*s", HOST_MOST, data->host);
    if (workers)
        str_add(&subtitle, ". ", "%u worker%s", workers, workers == 1 ? "" : "s");
    str_add(&subtitle, ". ", "%s", how);
    const char *skipped = format_skipped(data->result);
    dat_begin(title, subtitle, skipped, columns, out);
}

const char *dat_format_rounds(const struct figure_data *data, const char *what, const char *plural)
{
    unsigned rounds = data->result->rounds_done;
    const char *text = str_fmt("%s", what);
    if (rounds < 2)
        str_add(&text, ". ", "One round, so no interval%s", plural);
    else if (rounds < STATS_RANGE_BELOW)
        str_add(&text, ". ", "Median%s and range%s of %u rounds", plural, plural, rounds);
    else
        str_add(&text, ". ", "Median%s and 95%% interval%s over %u rounds", plural, plural, rounds);
    return text;
}

void dat_put_figure_heading(const struct figure_data *data, const struct arm *arm, const char *how,
                            const char *rest, const char *columns, FILE *out)
{
    const char *footnote = "";
    const struct arm_rounds *rounds = &data->analysis->rounds.arms[arm - data->result->arms];
    const char *title = str_fmt("%.*s: %s%s", HOST_MOST, data->result->scenario,
                                data->figure->title, device_mark(arm_device(data->result, arm)));
    const char *subtitle =
        str_fmt("%.*s%s%s", HOST_MOST, data->host, data->host[0] ? ". " : "", how);
    if (rounds->status != STATUS_OK)
        footnote =
            str_fmt("%s: %.*s", status_name(rounds->status), DAT_REASON_MOST, rounds->reason);
    if (rest[0])
        str_add(&footnote, ". ", "%s", rest);
    dat_begin(title, subtitle, footnote, columns, out);
}

const struct arm *dat_find_arm(const struct figure_data *data, const char *metric)
{
    for (size_t i = 0; i < data->result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = &data->result->arms[i];
        if (arm->bench == data->bench && rows_next(&data->analysis->rows, arm, metric, &at))
            return arm;
    }
    return NULL;
}

const char *dat_format_only(const struct figure_data *data, const struct arm *arm)
{
    bool by_placement =
        format_has_placement(data->result, arm) && !format_params(data->result, arm)[0];
    const char *name = format_arm(data->result, arm, NULL);
    const char *text = "";
    for (size_t i = 0; i < data->result->narms; i++) {
        size_t at = 0;
        const struct arm *other = &data->result->arms[i];
        if (other != arm && other->bench == arm->bench &&
            rows_next(&data->analysis->rows, other, data->figure->metric, &at))
            text = str_fmt("%s%s only. Others are in rows.csv", by_placement ? "Placement " : "",
                           name[0] ? name : "One arm");
    }
    return text;
}

double dat_round_125(double value, bool up)
{
    static const double digits[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value)));
    double below = power, above = 10 * power;
    for (int i = 0; i < 4; i++) {
        if (digits[i] * power <= value * (1 + 1e-12))
            below = digits[i] * power;
        if (digits[3 - i] * power >= value * (1 - 1e-12))
            above = digits[3 - i] * power;
    }
    return up ? above : below;
}

/* Characters of a name that fit into the legend. */
enum { SHOWN_MOST = 48 };

size_t names_add(struct names *names, const char *text)
{
    if (names->n == NAMES_MOST)
        return NAMES_MOST;
    names->name[names->n] = str_fmt("%s", text);
    return names->n++;
}

size_t names_place(struct names *names, const char *text)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], text) == 0)
            return i;
    return names_add(names, text);
}

void names_put(const struct names *names, const char *block, FILE *out)
{
    dat_block(block, "number name", out);
    for (size_t i = 0; i < names->n; i++)
        (void)fprintf(out, "%zu %s\n", i, dat_text(names->name[i], SHOWN_MOST).quoted);
}

enum { LABEL_MOST = 60 };

void curves_put_axes(const struct curves *curves, FILE *out)
{
    struct names panels = curves->panels;
    if (!panels.n)
        (void)names_add(&panels, "");
    (void)fprintf(out, " %s %s %zu %zu %zu %d %d %d %.9g %.9g %.9g %.9g %.9g %d %d %d\n",
                  dat_text(curves->x.label, LABEL_MOST).quoted,
                  dat_text(curves->y.label, LABEL_MOST).quoted, panels.n, curves->names.n,
                  curves->n ? curves->n : curves->names.n, curves->x.log, curves->x.bytes,
                  curves->y.log, curves->x_ends[0], curves->x_ends[1], curves->y_ends[0],
                  curves->y_ends[1], curves->y.from, (int)curves->y.ticks, (int)curves->x.ticks,
                  curves->steps);
    names_put(&panels, "panels", out);
    names_put(&curves->names, "names", out);
    dat_block(CURVES_LINES, out);
    for (size_t i = 0; i < curves->names.n && !curves->n; i++)
        (void)fprintf(out, "%zu 0 %zu\n", i, i);
}

void curves_put_line(size_t line, FILE *out)
{
    const char *name = str_fmt("line_%zu", line);
    dat_block(name, "x y low high", out);
}

void curves_put_point(double x, double y, double low, double high, FILE *out)
{
    (void)fprintf(out, "%.9g %.9g %.9g %.9g\n", x, y, low, high);
}

enum {
    HEAT_LABEL_MOST = 60,
    LINES_WANTED = 128, /* least rows of the image; viewers blur the rows of a smaller one */
    TICKS_MOST = 17,
};

/* At most TICKS_MOST ticks, so that they stay readable. */
static void put_ticks(const struct heat *heat, unsigned longer, FILE *out)
{
    unsigned step = 1;
    while ((longer + step - 1) / step > TICKS_MOST)
        step *= 2;
    dat_block("ticks", "place column line", out);
    for (unsigned place = 0; place < longer; place += step) {
        const char *text[HEAT_AXES] = {"", ""};
        for (unsigned axis = 0; axis < HEAT_AXES; axis++)
            if (place < heat->n[axis])
                text[axis] = heat->name(heat->arg, axis, place);
        (void)fprintf(out, "%u %s %s\n", place, dat_text(text[0], HEAT_TEXT).quoted,
                      dat_text(text[1], HEAT_TEXT).quoted);
    }
}

static void put_cells(const struct heat *heat, unsigned longer, FILE *out)
{
    dat_block("cells", "column line value text", out);
    for (size_t i = 0; i < (size_t)heat->n[0] * heat->n[1] && longer <= heat->printed_most; i++)
        if (!isnan(heat->value[i]))
            (void)fprintf(out, "%zu %zu %.6g %s\n", i % heat->n[0], i / heat->n[0], heat->value[i],
                          dat_text(heat->format_cell(heat->arg, i), HEAT_TEXT).quoted);
}

void heat_put(const struct heat *heat, FILE *out)
{
    unsigned longer = heat->n[0] > heat->n[1] ? heat->n[0] : heat->n[1];
    unsigned repeats = (LINES_WANTED + longer - 1) / longer;
    (void)fprintf(out, " %u %.9g %.9g %u %s %s %s %u %d\n", heat->n[1], heat->low, heat->high,
                  repeats, dat_text(heat->colours, HEAT_LABEL_MOST).quoted,
                  dat_text(heat->labels[0], HEAT_LABEL_MOST).quoted,
                  dat_text(heat->labels[1], HEAT_LABEL_MOST).quoted, heat->n[0], (int)heat->ticks);
    put_ticks(heat, longer, out);
    put_cells(heat, longer, out);
    dat_block("matrix", "", out);
    for (unsigned line = 0; line < heat->n[1] * repeats; line++) {
        for (unsigned column = 0; column < heat->n[0] * repeats; column++) {
            double value = heat->value[(size_t)(line / repeats) * heat->n[0] + column / repeats];
            (void)fprintf(out, isnan(value) ? "NaN " : "%.5g ", value);
        }
        (void)fputc('\n', out);
    }
}
