#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/analysis.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/dots.h"
#include "harness/show/figures/lines.h"
#include "harness/verdict/advice.h"

/*
 * Before and after in one figure: the speed-up of each placement over the default in each round,
 * and the median with its interval, both as in the table and the recommendation.
 */

/* "98.2k items/s". */
static const char *format_rate(const struct figure_data *data, size_t arm)
{
    const struct row *row = rows_find(&data->analysis->rows, &data->result->arms[arm], METRIC_RATE);
    return row ? str_fmt("%s %s", units_si(row->median), row->unit) : "";
}

/* An arm, and its comparison with the reference. */
struct subject {
    size_t arm;
    struct recommendation recommendation;
    struct evidence gain;
};

/* "21x (18x to 24x), recommended", "1x". */
static const char *format_ratio(const struct figure_data *data, const struct subject *subject)
{
    const struct evidence *gain = &subject->gain;
    const struct arm_rounds *arms = data->analysis->rounds.arms;
    bool is_reference = subject->recommendation.reference == (int)subject->arm;
    bool bound = !is_reference && arms[subject->recommendation.reference].status == STATUS_CENSORED;
    const char *ratio = advice_format_ratio(gain->ratio);
    const char *text = str_fmt("%s%s", bound ? "more than " : "", is_reference ? "1x" : ratio);
    if (!isnan(gain->low) && !bound && !is_reference)
        str_add(&text, "", " (%s to %s)", advice_format_ratio(gain->low),
                advice_format_ratio(gain->high));
    str_add(&text, "", "%s%s%s", format_fewer_rounds(data->result, &arms[subject->arm]),
            arms[subject->arm].status == STATUS_NOISY ? ", noisy" : "",
            subject->recommendation.arm == (int)subject->arm ? ", recommended" : "");
    return text;
}

/* NaN if the arm has no rate in that round. */
static double rate_in(const struct round_values *values, size_t arm, int round)
{
    for (size_t i = values->first[arm]; i < values->first[arm + 1]; i++)
        if (values->value[i].round == round && !strcmp(values->value[i].metric, METRIC_RATE))
            return values->value[i].value;
    return NAN;
}

/* Adds a dot per round, one below the other, and the median. */
static bool add_dots(const struct figure_data *data, const struct subject *subject, size_t line,
                     struct dots *dots)
{
    unsigned rounds = data->result->rounds_done;
    unsigned colour = subject->recommendation.arm == (int)subject->arm;
    for (unsigned round = 0; round < rounds; round++) {
        double ratio =
            rate_in(&data->analysis->values, subject->arm, (int)round) /
            rate_in(&data->analysis->values, (size_t)subject->recommendation.reference, (int)round);
        double above = rounds > 1 ? 0.3 - 0.6 * round / (rounds - 1.0) : 0;
        const struct dot dot = {line, ratio, NAN, NAN, above, colour, DOT_ROUND};
        if (ratio > 0 && isfinite(ratio) && !dots_add(dots, &dot))
            return false;
    }
    const struct evidence *gain = &subject->gain;
    const struct dot median = {line, gain->ratio, gain->low, gain->high, 0, colour, DOT_MEDIAN};
    return dots_add(dots, &median);
}

/* For the recommended arm, sets the title: "sized is 19x the default, range 18x to 25x". */
static int add_line(const struct figure_data *data, const struct lines *lines, size_t i,
                    struct dots *dots, const char **answer)
{
    struct subject subject = {.arm = lines->arm[i]};
    subject.recommendation =
        recommend_make(data->analysis, &data->analysis->result->arms[subject.arm]);
    subject.gain = evidence_of_rates(data->analysis, subject.recommendation.reference, subject.arm);
    const char *label = lines_format_label(data, lines, i);
    size_t line = dots_add_line(dots, 0, label);
    if (line == SIZE_MAX)
        return -ENOMEM;
    struct dots_line *added = &dots->lines[line];
    added->absent = isnan(subject.gain.ratio);
    if (added->absent) {
        added->text[0] = lines_format_why(data, lines, i, METRIC_RATE);
        return 0;
    }
    if (subject.recommendation.arm == (int)subject.arm &&
        recommend_applies(&subject.recommendation))
        *answer =
            str_fmt("%s is %s", label, advice_format_gain(data->analysis, &subject.recommendation));
    added->text[0] = format_ratio(data, &subject);
    added->text[1] = format_rate(data, subject.arm);
    return add_dots(data, &subject, line, dots) ? 0 : -ENOMEM;
}

int figure_throughput(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct dots_panel panel = {
        .label = "speed-up: throughput / that of the default, none (ratio, log scale)",
        .log = true,
        .mark = 1};
    struct lines lines;
    struct dots dots = {.ncolours = 2};
    const char *answer = "speed-up over the default";
    int rc = lines_make(data, &lines, err);
    if (rc)
        return rc;
    (void)dots_add_panel(&dots, &panel);
    for (size_t i = 0; i < lines.n && !rc; i++)
        rc = add_line(data, &lines, i, &dots, &answer);
    if (rc) {
        (void)err_set(err, rc, "out of memory for %zu lines", lines.n);
    } else if (!dots.n) {
        rc = err_set(err, -ENODATA, "no two placements finished the same round");
    } else {
        dots_add_key(&dots, 0, DOT_ROUND, "one round");
        dots_add_key(&dots, 1, DOT_ROUND, "one round, recommended");
        dots_add_key(&dots, 0, DOT_MEDIAN, "median");
        dat_put_heading(data, answer, lines.workers,
                        dat_format_rounds(data, "Compared round by round", ""), DOTS_COLUMNS, out);
        dots_put(&dots, out);
    }
    dots_free(&dots);
    lines_free(&lines);
    return rc;
}

/* Line charts of throughput and of efficiency over the number of workers. */

/* The input of one figure. */
struct shown {
    const struct figure_data *data;
    const char *metric;
    double most;
    struct scaling scaling;
};

static const struct row *row_at(const struct shown *shown, size_t count, size_t placement)
{
    int arm = shown->scaling.arm[count][placement];
    const struct row *row = arm < 0 ? NULL
                                    : rows_find(&shown->data->analysis->rows,
                                                &shown->data->result->arms[arm], shown->metric);
    return row && !isnan(row->median) ? row : NULL;
}

static int read_curves(const struct figure_data *data, const char *metric, struct shown *shown,
                       struct err *err)
{
    *shown = (struct shown){.data = data, .metric = metric};
    if (!scaling_read(data->result, &shown->scaling))
        return err_set(err, -ENODATA, "one number of workers makes no curve");
    for (size_t c = 0; c < shown->scaling.ncounts; c++)
        for (size_t p = 0; p < shown->scaling.nplacements; p++) {
            const struct row *row = row_at(shown, c, p);
            if (row)
                shown->most = fmax(shown->most, fmax(row->median, row->ci_high));
        }
    return shown->most > 0 ? 0 : err_set(err, -ENODATA, "no placement finished a round");
}

static void put(const struct shown *shown, const char *what, const char *label, FILE *out)
{
    const struct scaling *scaling = &shown->scaling;
    unsigned first = scaling->counts[0], last = scaling->counts[scaling->ncounts - 1];
    bool log = last >= 16 * first;
    struct curves curves = {.x = {.label = "workers", .log = log},
                            .y = {.label = label},
                            .x_ends = {log ? first * 0.9 : 0, last * 1.05},
                            .y_ends = {0, shown->most * 1.12}};
    for (size_t p = 0; p < scaling->nplacements; p++)
        (void)names_add(&curves.names, placement_infos[scaling->placements[p]].name);
    dat_put_heading(shown->data, what, 0,
                    dat_format_rounds(shown->data, "All workers together", "s"), CURVES_COLUMNS,
                    out);
    curves_put_axes(&curves, out);
    for (size_t p = 0; p < scaling->nplacements; p++) {
        curves_put_line(p, out);
        for (size_t c = 0; c < scaling->ncounts; c++) {
            const struct row *row = row_at(shown, c, p);
            if (row)
                curves_put_point(scaling->counts[c], row->median, row->ci_low, row->ci_high, out);
        }
    }
}

int figure_workers(const struct figure_data *data, FILE *out, struct err *err)
{
    struct shown shown;
    int rc = read_curves(data, METRIC_RATE, &shown, err);
    if (rc)
        return rc;
    const char *unit = "";
    for (size_t i = 0; i < data->result->narms && !unit[0]; i++)
        unit = data->analysis->rounds.arms[i].rate_unit;
    const char *label = str_fmt("%s of all workers", unit);
    put(&shown, "throughput of all workers, by their number", label, out);
    return 0;
}

int figure_workers_efficiency(const struct figure_data *data, FILE *out, struct err *err)
{
    struct shown shown;
    int rc = read_curves(data, "efficiency", &shown, err);
    if (!rc)
        put(&shown, "parallel efficiency, by the number of workers",
            "efficiency (alone on a slice: 1)", out);
    return rc;
}
