#include "harness/show/figures/lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/record/format.h"

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
