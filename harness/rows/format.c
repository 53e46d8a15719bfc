#include "harness/rows/format.h"

#include <stdio.h>
#include <string.h>

#include "harness/lib/base/text.h"

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
                          char *buf, size_t size)
{
    char value[64];
    for (const struct opt *opt = arm->bench->opts; opt && opt->name; opt++)
        if (!(at && dims_has_name(arm->bench, at, opt->name)) &&
            arm_option_differs(result, arm, opt))
            text_append(buf, size, ", ", "%s %s", opt->name,
                        opt_format_value(opt, arm->params, value, sizeof(value)));
}

static void append_placement(const struct result *result, const struct arm *arm, char *buf,
                             size_t size)
{
    if (arm->is_baseline)
        text_append(buf, size, ", ", "%s", bench_is_team(arm->bench) ? "without load" : "alone");
    else if (format_has_placement(result, arm))
        text_append(buf, size, ", ", "%s", placement_infos[arm->placement].name);
    if (arm->variant)
        text_append(buf, size, ", ", "variant %s", arm->variant->name);
}

char *format_dims(const struct bench *bench, const struct dims *at, char *buf, size_t size)
{
    char text[2 * DIMS_KEY_MAX];
    buf[0] = '\0';
    for (unsigned part = 0; at && part < at->n; part++)
        text_append(buf, size, ", ", "%s", dims_format_part(bench, at, part, text, sizeof(text)));
    return buf;
}

char *format_arm(const struct result *result, const struct arm *arm, const struct dims *at,
                 char *buf, size_t size)
{
    (void)format_dims(arm->bench, at, buf, size);
    append_params(result, arm, at, buf, size);
    append_placement(result, arm, buf, size);
    return buf;
}

char *format_dose(const struct arm *arm, char buf[static FORMAT_DOSE_MAX])
{
    char dose[DOSE_TEXT_MAX];
    bool has_dose = !dose_is_idle(&arm->dose);
    (void)snprintf(buf, FORMAT_DOSE_MAX, "%s%s", has_dose ? ", dose " : "",
                   has_dose ? dose_format(&arm->dose, dose) : "");
    return buf;
}

char *format_params(const struct result *result, const struct arm *arm, char *buf, size_t size)
{
    buf[0] = '\0';
    append_params(result, arm, NULL, buf, size);
    return buf;
}

char *format_part(const struct result *result, const struct arm *arm, const struct dims *at,
                  char *buf, size_t size)
{
    buf[0] = '\0';
    append_params(result, arm, at, buf, size);
    if (has_other_planned_workers(result, arm))
        text_append(buf, size, ", ", "%u worker%s", arm->planned_workers,
                    arm->planned_workers == 1 ? "" : "s");
    return buf;
}

char *format_in_part(const struct result *result, const struct arm *arm, const struct dims *at,
                     char *buf, size_t size)
{
    (void)format_dims(arm->bench, at, buf, size);
    append_placement(result, arm, buf, size);
    return buf;
}

char *format_fewer_rounds(const struct result *result, const struct arm_rounds *rounds, char *buf,
                          size_t size)
{
    buf[0] = '\0';
    if (result->purpose == PURPOSE_RUN && rounds->n < result->rounds_done)
        (void)snprintf(buf, size, ", %zu of %u rounds", rounds->n, result->rounds_done);
    return buf;
}
