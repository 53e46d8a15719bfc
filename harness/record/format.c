#include "harness/record/format.h"

#include <math.h>
#include <string.h>

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

static bool is_bytes(const char *unit)
{
    return strcmp(unit, "B") == 0 || strcmp(unit, "bytes") == 0;
}

static bool has_none(const char *unit)
{
    static const char *const none[] = {"ratio", "count", "number", "1", ""};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (strcmp(unit, none[i]) == 0)
            return true;
    return false;
}

const char *number_bound(const char *doubt)
{
    return strncmp(doubt, "at most: ", 9) == 0     ? "<="
           : strncmp(doubt, "at least: ", 10) == 0 ? ">="
                                                   : "";
}

const char *number_format_bytes(double bytes)
{
    double unit = 1;
    while (bytes >= 10 * 1024 * unit)
        unit *= 1024;
    double rounded = bytes >= 10 * unit ? round(bytes / unit) * unit : bytes;
    return units_bytes((uint64_t)fmax(rounded, 0));
}

const char *number_format(double value, const char *unit, bool with_unit)
{
    double told = fabs(value) < 0.005 ? 0 : value, most = fabs(told); /* no "-0.00" */
    if (is_bytes(unit))
        return number_format_bytes(value);
    if (strcmp(unit, "s") == 0)
        return units_seconds(value);
    bool shown = with_unit && !has_none(unit);
    int digits = most >= 99.95 ? 0 : most >= 9.995 ? 1 : 2;
    return str_fmt("%.*f%s%s", digits, told, shown ? " " : "", shown ? unit : "");
}

const char *number_format_sentence(double value, const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(unit, times[i].name) == 0)
            return units_seconds(value * times[i].seconds);
    if (is_bytes(unit))
        return number_format_bytes(value);
    bool has_prefix = strchr("kMGT", unit[0]) && strlen(unit) > 1, shown = !has_none(unit);
    return str_fmt("%s%s%s", has_prefix ? units_plain(value, 3) : units_si(value), shown ? " " : "",
                   shown ? unit : "");
}

const char *number_unit(const char *unit)
{
    return is_bytes(unit) || has_none(unit) || strcmp(unit, "s") == 0 ? "" : unit;
}

bool number_in_title(const struct result *result, const struct arm *arm, const char *part)
{
    const struct opt *opt = opts_find(arm->bench->opts, part);
    return opt && arm_option_differs(result, arm, opt);
}
