#include "harness/verdict/recommend.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"

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

/* By both ends of what was measured. */
static enum slo_answer judge(const struct slo *slo, double one, double other)
{
    const double low = excess(slo, one), high = excess(slo, other);
    return fmax(low, high) <= 0 ? SLO_HOLDS : fmin(low, high) > 0 ? SLO_BROKEN : SLO_UNCLEAR;
}

enum slo_answer slo_judge(const struct slo *slo, const struct row *row)
{
    if (!row || isnan(row->median) || row->status > STATUS_NOISY)
        return SLO_NOT_MEASURED;
    if (slo->is_time != !strcmp(row->unit, "s"))
        return SLO_OTHER_UNIT;
    return judge(slo, end_of(row, false), end_of(row, true));
}

struct evidence slo_against_alone(const struct analysis *analysis, const struct arm *arm)
{
    const struct result *result = analysis->result;
    const struct round_value like = {.metric = result->slo->metric};
    const struct evidence_rule rule = {.within = result->slo->value};
    struct evidence_group groups[2] = {
        {0}, evidence_find_group(analysis, (size_t)(arm - result->arms), &like)};
    for (size_t i = 0; i < result->narms && !groups[0].n; i++)
        if (result->arms[i].alone)
            groups[0] = evidence_find_group(analysis, i, &like);
    return groups[0].n && groups[1].n ? evidence_of_groups(analysis, groups, &rule) : evidence_none;
}

double slo_worse(const struct analysis *analysis, double ratio)
{
    const struct bench_metric *metric =
        bench_metric_find(&analysis->result->neighbours->bench, analysis->result->slo->metric);
    return metric && !strcmp(metric->better, "lower") ? ratio : 1 / ratio;
}

enum slo_answer slo_judge_arm(const struct analysis *analysis, const struct arm *arm)
{
    const struct slo *slo = analysis->result->slo;
    if (!slo || !slo->of_alone)
        return slo ? slo_judge(slo, rows_find(&analysis->rows, arm, slo->metric)) : SLO_HOLDS;
    const struct slo most = {.value = 1 + slo->value};
    const struct evidence of = slo_against_alone(analysis, arm);
    const bool one_round = isnan(of.low);
    return isnan(of.ratio) ? SLO_NOT_MEASURED
                           : judge(&most, slo_worse(analysis, one_round ? of.ratio : of.low),
                                   slo_worse(analysis, one_round ? of.ratio : of.high));
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
    struct finding finding = {.id = "slo"};
    const struct result *result = analysis->result;
    const struct slo *slo = result->slo;
    const char *lists[SLO_NOT_MEASURED] = {"", "", "", ""}, *text = "";
    const struct row *nearest = NULL;
    for (size_t i = 0; slo && i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        const struct row *row = rows_find(&analysis->rows, arm, slo->metric);
        const enum slo_answer answer = slo_judge(slo, row);
        if (arm->is_baseline || arm->is_control || answer == SLO_NOT_MEASURED ||
            (result->purpose == PURPOSE_TUNE && !arm_is_fresh(arm)))
            continue;
        str_add(&lists[answer], ", ", "%s", format_answer(result, row));
        if (!nearest || excess(slo, row->median) < excess(slo, nearest->median))
            nearest = row;
    }
    for (size_t i = 0; i < SLO_NOT_MEASURED; i++)
        if (lists[i][0])
            str_add(&text, "; ", "%s %.200s", words[i], lists[i]);
    finding.severity = lists[SLO_HOLDS][0] ? FINDING_NOTE : FINDING_DOUBT;
    if (nearest && finding.severity == FINDING_DOUBT && !lists[SLO_OTHER_UNIT][0])
        str_add(&text, "; ", "nearest is %s", format_answer(result, nearest));
    if (nearest)
        findings_putf(findings, &finding, "%.60s %s.", slo->text, text);
}
