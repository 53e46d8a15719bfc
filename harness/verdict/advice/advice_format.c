/* How advice is written: ratios, their intervals, and commands to be pasted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/arms/arms.h"
#include "harness/lib/base/text.h"
#include "harness/lib/stats/stats.h"
#include "harness/verdict/advice/advice.h"

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

/* Of few rounds that are further apart only the order of magnitude is told. */
static const double rounds_apart = 3;

const char *advice_reference(const struct analysis *analysis, const struct recommendation *made)
{
    return made->is_default ? "the default" : arm_name(&analysis->result->arms[made->reference]);
}

/* A bound on the ratio: the slow one may be slower. */
static const char *more_than(const struct analysis *analysis, const struct recommendation *made)
{
    bool bound = analysis->rounds.arms[made->reference].status == STATUS_CENSORED;
    return bound && made->arm != made->reference ? "more than " : "";
}

static void format_ratio_to(const struct paired_ratio *ratio, const char *bound, const char *of,
                            char *buf, size_t size)
{
    char median[32], interval[80], high[32];
    bool few = ratio->rounds > 1 && ratio->rounds < STATS_RANGE_BELOW;
    bool apart = few && ratio->high > rounds_apart * ratio->low;
    (void)advice_format_ratio(apart ? ratio->low : ratio->median, median, sizeof(median));
    (void)advice_format_interval(ratio, interval, sizeof(interval));
    if (apart && !bound[0])
        (void)snprintf(buf, size, "between %s and %s %s", median,
                       advice_format_ratio(ratio->high, high, sizeof(high)), of);
    else
        (void)snprintf(buf, size, "%s%s %s%s%s", bound, median, of,
                       ratio->rounds == 1 ? " in one round"
                       : apart            ? ""
                                          : ", ",
                       apart ? "" : interval);
}

char *advice_format_gain(const struct analysis *analysis, const struct recommendation *made,
                         char *buf, size_t size)
{
    format_ratio_to(&made->gain, more_than(analysis, made), advice_reference(analysis, made), buf,
                    size);
    return buf;
}

void advice_note_gain(const struct paired_ratio *gain, struct finding *finding)
{
    text_set(finding->metric, "throughput");
    text_set(finding->unit, "ratio");
    finding->value = gain->median;
    finding->low = gain->low;
    finding->high = gain->high;
}

void advice_say_none(const struct analysis *analysis, const struct recommendation *made,
                     struct finding *finding)
{
    char ratio[200];
    const char *reference = advice_reference(analysis, made);
    if (made->disturbed)
        text_set(finding->sentence,
                 "no recommendation: the machine was disturbed in every round, which is no "
                 "evidence.");
    if (made->disturbed || made->best < 0 || !made->best_gain.rounds)
        return;
    format_ratio_to(&made->best_gain, "", reference, ratio, sizeof(ratio));
    text_set(finding->sentence, "no measurable gain: %s%s. %s, the fastest other, does %s.",
             made->is_default ? "leave it as it is" : "nothing is ahead of ",
             made->is_default ? "" : reference, arm_name(&analysis->result->arms[made->best]),
             ratio);
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
        text_set(background, " --background-workers %u", arm_background(arm));
    (void)snprintf(buf, size, "%s place --workers %u --placement %s%s%s",
                   result->program ? result->program : "contend", arm->slots,
                   placement_infos[arm->placement].name, background, result->plan_options);
    return advice_add_job(result, buf, size);
}
