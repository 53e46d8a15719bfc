#include "harness/show/table/baselines.h"

#include <math.h>
#include <stdlib.h>

#include "harness/lib/base/strbuf.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/metric.h"

enum { CELL = 32 };

/* Rounds, and the mean of steps and their median, that lie so far apart are told. */
#define ROUNDS_APART 2.0
#define STEPS_APART 1.5

/* "10.0 k, 10.0 ms": of steps that are not alike, work per second is by their mean. */
static void add_figures(const struct analysis *analysis, const struct arm *arm, struct strbuf *line)
{
    char text[CELL], most[CELL];
    const struct row *rate = rows_find(&analysis->rows, arm, METRIC_RATE);
    const struct row *step = rows_find(&analysis->rows, arm, "step_time");
    const struct row *mean = rows_find(&analysis->rows, arm, "step_time_mean");
    double step_s = step ? step->median : NAN;
    strbuf_adds(line, units_format_si(rate ? rate->median : NAN, text, sizeof(text)));
    if (rate && rate->min > 0 && rate->max >= ROUNDS_APART * rate->min)
        strbuf_addf(line, " (rounds %s to %s)", units_format_si(rate->min, text, sizeof(text)),
                    units_format_si(rate->max, most, sizeof(most)));
    strbuf_addf(line, ", %s", units_format_seconds(step_s, text, sizeof(text)));
    if (mean && mean->median >= STEPS_APART * step_s)
        strbuf_addf(line, " (mean %s)", units_format_seconds(mean->median, text, sizeof(text)));
}

static void add_arm(const struct analysis *analysis, int arm, const char *where,
                    struct strbuf *line)
{
    if (arm < 0)
        return;
    bool disturbed = analysis->rounds.arms[arm].status == STATUS_NOISY;
    strbuf_addf(line, "%s%s%s: ", line->length ? "; " : "one worker alone ", where,
                disturbed ? "~" : "");
    add_figures(analysis, &analysis->result->arms[arm], line);
}

/* Any placement of as many workers: all have the same baselines. NULL: there is none. */
static const struct arm_rounds *find_measured(const struct analysis *analysis, unsigned slots)
{
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        if (arm->slots == slots && !arm->alone && !arm->bench->scan)
            return &analysis->rounds.arms[i];
    }
    return NULL;
}

void baselines_print(const struct analysis *analysis, unsigned slots, FILE *out)
{
    char where[CELL];
    struct strbuf line = {0};
    const struct arm_rounds *any = find_measured(analysis, slots);
    if (!any)
        return;
    int slice = any->baseline[BASELINE_SLICE], single = any->baseline[BASELINE_SINGLE];
    if (slots == 1 && (single < 0 || !analysis->result->arms[single].alone))
        return; /* it is its own baseline */
    (void)snprintf(where, sizeof(where), "on 1/%u of the CPUs", slots);
    add_arm(analysis, slots > 1 ? slice : -1, where, &line);
    add_arm(analysis, single, "with all", &line);
    if (line.length)
        text_wrap(line.text, 0, 2, out);
    strbuf_free(&line);
}
