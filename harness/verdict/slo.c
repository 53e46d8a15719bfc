#include "harness/verdict/recommend.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"

int slo_parse(const char *text, struct slo *slo, struct err *err)
{
    size_t length = strcspn(text, "<>,");
    const char *value = text[length] && text[length + 1] == '=' ? text + length + 2 : "";
    char *end = NULL;
    *slo = (struct slo){.at_least = text[length] == '>'};
    if (isdigit((unsigned char)*value) || *value == '-')
        slo->value = strtod(value, &end);
    slo->is_time = end && *end;
    if (!end || !length || length >= sizeof(slo->metric) || !isfinite(slo->value) ||
        (*end && units_parse_duration(value, &slo->value, err)))
        return err_set(err, -EINVAL, "option '--slo': '%.60s' is no bound such as 'p99<=20ms'",
                       text);
    text_set(slo->metric, "%.*s", (int)length, text);
    return 0;
}

/* How far a value is beyond the bound; up to 0 = it holds. */
static double excess(const struct slo *slo, double value)
{
    return slo->at_least ? slo->value - value : value - slo->value;
}

/* The end of its interval; of one round the value. */
static double end_of(const struct row *row, bool high)
{
    double end = high ? row->ci_high : row->ci_low;
    return isnan(end) ? row->median : end;
}

enum slo_answer slo_judge(const struct slo *slo, const struct row *row)
{
    if (!row || isnan(row->median) || row->status > STATUS_NOISY)
        return SLO_NOT_MEASURED;
    if (slo->is_time != !strcmp(row->unit, "s"))
        return SLO_OTHER_UNIT;
    double low = excess(slo, end_of(row, false)), high = excess(slo, end_of(row, true));
    return fmax(low, high) <= 0 ? SLO_HOLDS : fmin(low, high) > 0 ? SLO_BROKEN : SLO_UNCLEAR;
}

enum slo_answer slo_judge_arm(const struct analysis *analysis, const struct arm *arm)
{
    struct slo slo;
    if (!analysis->result->slo || slo_parse(analysis->result->slo, &slo, NULL))
        return SLO_HOLDS;
    return slo_judge(&slo, rows_find(&analysis->rows, arm, slo.metric));
}

/* "partition (20 ms to 21 ms)", "cores-2, 1 worker (20 ms to 20 ms)". */
static const char *format_answer(const struct result *result, const struct row *row)
{
    const char *text = str_fmt("%s", arm_name(row->arm));
    if (result_next_workers(result, result_next_workers(result, 0)))
        str_add(&text, ", ", "%u worker%s", row->planned_workers,
                row->planned_workers == 1 ? "" : "s");
    str_add(&text, " ", "(%s", number_format_sentence(end_of(row, false), row->unit));
    str_add(&text, " to ", "%s)", number_format_sentence(end_of(row, true), row->unit));
    return text;
}

void slo_find(const struct analysis *analysis, struct findings *findings)
{
    static const char *const words[SLO_NOT_MEASURED] = {
        "holds under", "does not under", "is unclear, as the interval includes it, under",
        "does not compare, as only one of both has a unit of time, under"};
    struct slo slo;
    struct finding finding = {.id = "slo"};
    const struct result *result = analysis->result;
    const char *lists[SLO_NOT_MEASURED] = {"", "", "", ""}, *text = "";
    const struct row *nearest = NULL;
    if (!result->slo || slo_parse(result->slo, &slo, NULL))
        return;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        const struct row *row = rows_find(&analysis->rows, arm, slo.metric);
        const enum slo_answer answer = slo_judge(&slo, row);
        if (arm->is_baseline || arm->is_control || answer == SLO_NOT_MEASURED ||
            (result->purpose == PURPOSE_TUNE && !arm_is_fresh(arm)))
            continue;
        str_add(&lists[answer], ", ", "%s", format_answer(result, row));
        if (!nearest || excess(&slo, row->median) < excess(&slo, nearest->median))
            nearest = row;
    }
    for (size_t i = 0; i < SLO_NOT_MEASURED; i++)
        if (lists[i][0])
            str_add(&text, "; ", "%s %.200s", words[i], lists[i]);
    finding.severity = lists[SLO_HOLDS][0] ? FINDING_NOTE : FINDING_DOUBT;
    if (nearest && finding.severity == FINDING_DOUBT && !lists[SLO_OTHER_UNIT][0])
        str_add(&text, "; ", "nearest is %s", format_answer(result, nearest));
    if (nearest)
        findings_putf(findings, &finding, "%.60s %s.", result->slo, text);
}
