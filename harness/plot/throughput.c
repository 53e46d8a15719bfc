/*
 * Before and after in one figure: how many times less work per second each placement does than the
 * best, round by round, and the median with its interval, which are the table's and the sentence's.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/units.h"
#include "harness/judge/advice.h"
#include "harness/plot/dat.h"
#include "harness/plot/dots.h"
#include "harness/plot/lines.h"
#include "harness/rows/metric.h"

/* "98.2k items/s". */
static void say_rate(const struct figure_data *data, size_t arm, char text[static DOTS_TEXT])
{
    char number[16];
    const struct arm_rounds *rounds = &data->rounds->arms[arm];
    (void)snprintf(text, DOTS_TEXT, "%s %s", units_format_si(rounds->rate, number, sizeof(number)),
                   rounds->rate_unit);
}

/* "21x (18x to 24x)", "best". */
static void say_ratio(const struct figure_data *data, size_t arm, const struct row *row,
                      char text[static DOTS_TEXT])
{
    char ratio[16], low[16], high[16];
    if (data->rounds->arms[arm].baseline[BASELINE_BEST] == (int)arm) {
        (void)snprintf(text, DOTS_TEXT, "best");
        return;
    }
    bool bound = row->status == STATUS_CENSORED;
    size_t used = (size_t)snprintf(text, DOTS_TEXT, "%s%s less", bound ? "more than " : "",
                                   advice_format_ratio(row->median, ratio, sizeof(ratio)));
    if (!isnan(row->ci_low) && !bound)
        used += (size_t)snprintf(text + used, DOTS_TEXT - used, " (%s to %s)",
                                 advice_format_ratio(row->ci_low, low, sizeof(low)),
                                 advice_format_ratio(row->ci_high, high, sizeof(high)));
    (void)snprintf(text + used, DOTS_TEXT - used, "%s",
                   row->status == STATUS_NOISY ? ", noisy" : "");
}

/* The rounds' own dots, one below the other, and the median. */
static bool add_dots(const struct figure_data *data, size_t arm, size_t line, const struct row *row,
                     struct dots *dots)
{
    const struct round_values *values = data->values;
    unsigned rounds = data->result->rounds_done;
    for (size_t i = values->first[arm]; i < values->first[arm + 1]; i++) {
        const struct round_value *value = &values->value[i];
        if (strcmp(value->metric, METRIC_VS_BEST) != 0 || !(value->value > 0))
            continue;
        double above = rounds > 1 ? 0.3 - 0.6 * value->round / (rounds - 1.0) : 0;
        const struct dot dot = {line, value->value, NAN, NAN, above, 0, DOT_ROUND};
        if (!dots_add(dots, &dot))
            return false;
    }
    const struct dot median = {line, row->median, row->ci_low, row->ci_high, 0, 0, DOT_MEDIAN};
    return dots_add(dots, &median);
}

static int add_line(const struct figure_data *data, const struct lines *lines, size_t i,
                    struct dots *dots)
{
    size_t arm = lines->arm[i];
    char label[DOTS_NAME];
    const struct row *row = rows_find(data->rows, lines_arm(data, lines, i), METRIC_VS_BEST);
    size_t line = dots_add_line(dots, 0, lines_say_label(data, lines, i, label, sizeof(label)));
    if (line == SIZE_MAX)
        return -ENOMEM;
    struct dots_line *added = &dots->lines[line];
    added->absent = !row || isnan(row->median);
    if (added->absent) {
        (void)lines_say_why(data, lines, i, METRIC_VS_BEST, added->text[0], DOTS_TEXT);
        return 0;
    }
    say_ratio(data, arm, row, added->text[0]);
    say_rate(data, arm, added->text[1]);
    return add_dots(data, arm, line, row, dots) ? 0 : -ENOMEM;
}

static void put_heading(const struct figure_data *data, const struct lines *lines, FILE *out)
{
    char how[120] = "Compared round by round. One round, so no interval";
    unsigned rounds = data->result->rounds_done;
    if (rounds > 1)
        (void)snprintf(how, sizeof(how), "Compared round by round. Median and %s %u rounds",
                       rounds < STATS_RANGE_BELOW ? "range of" : "95% interval over", rounds);
    dat_put_heading(data, "work done per second by all workers", lines->workers, how, out);
}

int figure_throughput(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct dots_panel panel = {
        .label = "times less work per second than the best placement (ratio, log scale)",
        .log = true,
        .mark = 1};
    struct lines lines;
    struct dots dots = {.ncolours = 1};
    int rc = lines_make(data, &lines, err);
    if (rc)
        return rc;
    (void)dots_add_panel(&dots, &panel);
    for (size_t i = 0; i < lines.n && !rc; i++)
        rc = add_line(data, &lines, i, &dots);
    if (rc) {
        (void)err_set(err, rc, "out of memory for %zu lines", lines.n);
    } else if (!dots.n) {
        rc = err_set(err, -ENODATA, "no placement finished a round");
    } else {
        dots_add_key(&dots, 0, DOT_ROUND, "one round");
        dots_add_key(&dots, 0, DOT_MEDIAN, "median");
        put_heading(data, &lines, out);
        dots_put(&dots, out);
    }
    dots_free(&dots);
    lines_free(&lines);
    return rc;
}
