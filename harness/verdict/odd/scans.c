#include "harness/verdict/odd/odd.h"

#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/rows/format.h"

enum { ROUNDS_LEAST = 3 };

/* The rows of one metric of an arm: all, those below 1, and the lowest of those. */
struct metric_rows {
    size_t rows, below_one;
    const struct row *row;
};

static bool is_below_one(const struct row *row)
{
    return row->rounds >= ROUNDS_LEAST && row->ci_high < SCANS_BELOW_ONE;
}

static struct metric_rows find(const struct rows *rows, const struct arm *arm, const char *metric)
{
    struct metric_rows metric_rows = {.rows = 0};
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        if (row->arm != arm || strcmp(row->metric, metric) != 0)
            continue;
        metric_rows.rows++;
        if (!is_below_one(row))
            continue;
        metric_rows.below_one++;
        if (!metric_rows.row || row->median < metric_rows.row->median)
            metric_rows.row = row;
    }
    return metric_rows;
}

static void judge_metric(const struct analysis *analysis, const struct arm *arm,
                         const struct bench_metric *metric, struct findings *findings)
{
    struct finding finding = {.id = "below_one"};
    char part[80], where[80], what[120];
    struct metric_rows metric_rows = find(&analysis->rows, arm, metric->name);
    bool many = (double)metric_rows.below_one >= SCANS_BELOW_SHARE * (double)metric_rows.rows;
    if (!metric->below_one || !metric_rows.below_one || !many)
        return;
    (void)format_part(analysis->result, arm, NULL, part, sizeof(part));
    (void)format_in_part(analysis->result, arm, NULL, where, sizeof(where));
    (void)format_dims(arm->bench, &metric_rows.row->dims, what, sizeof(what));
    text_set(finding.subject, "%s, %s%s%s%s%s", arm->bench->name, metric->name, part[0] ? ", " : "",
             part, where[0] ? ", " : "", where);
    text_set(finding.evidence, "%zu of %zu values, such as %s", metric_rows.below_one,
             metric_rows.rows, what);
    findings_putf(findings, &finding, "%.3f: %s", metric_rows.row->median, metric->below_one);
}

void scans_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    for (size_t i = 0; i < result->narms; i++) {
        const struct bench *bench = result->arms[i].bench;
        bool scanned = bench->scan && analysis->rounds.arms[i].n;
        for (const struct bench_metric *metric = scanned ? bench->metrics : NULL;
             metric && metric->name; metric++)
            judge_metric(analysis, &result->arms[i], metric, findings);
    }
}
