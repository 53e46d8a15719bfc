#include "harness/verdict/odd/odd.h"

#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/rows/format.h"

enum { ROUNDS_LEAST = 3 };

/* The rows of one metric of an arm: all, those below 1, and the lowest of those. */
struct some {
    size_t rows, told;
    const struct row *row;
};

static bool is_below_one(const struct row *row)
{
    return row->rounds >= ROUNDS_LEAST && row->ci_high < SCANS_BELOW_ONE;
}

static struct some find(const struct rows *rows, const struct arm *arm, const char *metric)
{
    struct some some = {.rows = 0};
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        if (row->arm != arm || strcmp(row->metric, metric) != 0)
            continue;
        some.rows++;
        if (!is_below_one(row))
            continue;
        some.told++;
        if (!some.row || row->median < some.row->median)
            some.row = row;
    }
    return some;
}

static void judge_metric(const struct analysis *analysis, const struct arm *arm,
                         const struct bench_metric *metric, struct findings *findings)
{
    struct finding finding = {.id = "below_one"};
    char part[80], where[80], what[120];
    struct some some = find(&analysis->rows, arm, metric->name);
    bool many = (double)some.told >= SCANS_BELOW_SHARE * (double)some.rows;
    if (!metric->below_one || !some.told || !many)
        return;
    (void)format_part(analysis->result, arm, NULL, part, sizeof(part));
    (void)format_in_part(analysis->result, arm, NULL, where, sizeof(where));
    (void)format_dims(arm->bench, &some.row->dims, what, sizeof(what));
    text_set(finding.subject, "%s, %s%s%s%s%s", arm->bench->name, metric->name, part[0] ? ", " : "",
             part, where[0] ? ", " : "", where);
    text_set(finding.evidence, "%zu of %zu values, such as %s", some.told, some.rows, what);
    findings_putf(findings, &finding, "%.3f: %s", some.row->median, metric->below_one);
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
