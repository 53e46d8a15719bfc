#include "harness/record/format.h"

#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"

static bool has_other_placement(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench && result->arms[i].params == arm->params &&
            result->arms[i].placement != arm->placement)
            return true;
    return false;
}

bool format_has_placement(const struct result *result, const struct arm *arm)
{
    return !arm->is_baseline && (has_other_placement(result, arm) || arm_background(arm));
}

static bool has_other_planned_workers(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench &&
            result->arms[i].planned_workers != arm->planned_workers)
            return true;
    return false;
}

static void append_params(const struct result *result, const struct arm *arm, const struct dims *at,
                          const char **text)
{
    for (const struct opt *opt = arm->bench->opts; opt && opt->name; opt++)
        if (!(at && dims_has_name(arm->bench, at, opt->name)) &&
            arm_option_differs(result, arm, opt))
            str_add(text, ", ", "%s %s", opt->name, opt_format_value(opt, arm->params));
}

static void append_placement(const struct result *result, const struct arm *arm, const char **text)
{
    if (arm->is_baseline)
        str_add(text, ", ", "%s", bench_is_team(arm->bench) ? "without load" : "alone");
    else if (format_has_placement(result, arm))
        str_add(text, ", ", "%s", placement_infos[arm->placement].name);
    if (arm->variant)
        str_add(text, ", ", "variant %s", arm->variant->name);
}

const char *format_dims(const struct bench *bench, const struct dims *at)
{
    const char *text = "";
    for (unsigned part = 0; at && part < at->n; part++)
        str_add(&text, ", ", "%s", dims_format_part(bench, at, part));
    return text;
}

const char *format_arm(const struct result *result, const struct arm *arm, const struct dims *at)
{
    const char *text = format_dims(arm->bench, at);
    append_params(result, arm, at, &text);
    append_placement(result, arm, &text);
    return text;
}

const char *format_dose(const struct arm *arm)
{
    bool has_dose = !dose_is_idle(&arm->dose);
    return str_fmt("%s%s", has_dose ? ", dose " : "", has_dose ? dose_format(&arm->dose) : "");
}

const char *format_params(const struct result *result, const struct arm *arm)
{
    const char *text = "";
    append_params(result, arm, NULL, &text);
    return text;
}

const char *format_part(const struct result *result, const struct arm *arm, const struct dims *at)
{
    const char *text = "";
    append_params(result, arm, at, &text);
    if (has_other_planned_workers(result, arm))
        str_add(&text, ", ", "%u worker%s", arm->planned_workers,
                arm->planned_workers == 1 ? "" : "s");
    return text;
}

const char *format_in_part(const struct result *result, const struct arm *arm,
                           const struct dims *at)
{
    const char *text = format_dims(arm->bench, at);
    append_placement(result, arm, &text);
    return text;
}

const char *format_fewer_rounds(const struct result *result, const struct arm_rounds *rounds)
{
    if (result->purpose == PURPOSE_RUN && rounds->n < result->rounds_done)
        return str_fmt(", %zu of %u rounds", rounds->n, result->rounds_done);
    return "";
}
