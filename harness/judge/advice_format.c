/* How advice is written: ratios, their intervals, and commands to be pasted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/text.h"
#include "harness/judge/advice.h"
#include "harness/run/arms.h"

char *advice_format_ratio(double ratio, char *buf, size_t size)
{
    double shown = fabs(ratio);
    int digits = shown >= 9.95 ? 0 : shown >= 1.95 ? 1 : 2;
    if (isnan(ratio))
        (void)snprintf(buf, size, "-");
    else
        (void)snprintf(buf, size, "%.*fx", digits, ratio);
    return buf;
}

char *advice_format_interval(const struct paired_ratio *ratio, char *buf, size_t size)
{
    char low[32], high[32];
    buf[0] = '\0';
    if (!isnan(ratio->low))
        (void)snprintf(buf, size, "%s %s to %s", advice_interval_name(ratio->rounds),
                       advice_format_ratio(ratio->low, low, sizeof(low)),
                       advice_format_ratio(ratio->high, high, sizeof(high)));
    return buf;
}

const char *advice_interval_name(size_t rounds)
{
    return rounds < STATS_RANGE_BELOW ? "range" : "95%";
}

int advice_reason_length(const struct arm_rounds *arm)
{
    return (int)strcspn(arm->reason, arm->status == STATUS_CENSORED ? ":" : "");
}

char *advice_add_job(const struct result *result, char *buf, size_t size)
{
    size_t begin = strlen(buf), used = begin;
    char *const *words = result->command;
    if (words)
        used += (size_t)snprintf(buf + used, size - used, " --");
    for (; words && *words && used < size; words++) {
        used += (size_t)snprintf(buf + used, size - used, " ");
        if (used < size)
            used += text_shell_word(*words, buf + used, size - used);
    }
    if (used >= size)
        buf[begin] = '\0';
    return buf;
}

char *advice_command(const struct result *result, const struct arm *arm, char *buf, size_t size)
{
    char background[40] = "";
    if (arm_background(arm))
        (void)snprintf(background, sizeof(background), " --background-workers %u",
                       arm_background(arm));
    (void)snprintf(buf, size, "%s place --workers %u --placement %s%s%s",
                   result->program ? result->program : "contend", arm->slots,
                   placement_infos[arm->placement].name, background, result->plan_options);
    return advice_add_job(result, buf, size);
}
