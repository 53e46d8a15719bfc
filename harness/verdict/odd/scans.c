#include "harness/verdict/odd/scans.h"

#include <stdio.h>
#include <string.h>

#include "harness/rows/say.h"

enum { ROUNDS_LEAST = 3 };

/* The rows of one metric of an arm: how many, how many that are told, and the least of those. */
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

/* "n 8, aggressor stream" of a row, as its benchmark says it, and of how many it is one. */
static void say_where(const struct bench *bench, const struct some *some, char *buf, size_t size)
{
    char what[120];
    (void)say_dims(bench, &some->row->dims, what, sizeof(what));
    (void)snprintf(buf, size, "%zu of %zu values, such as %s", some->told, some->rows, what);
}

static int judge_metric(const struct analysis *analysis, const struct arm *arm,
                        const struct bench_metric *metric, struct findings *findings,
                        struct err *err)
{
    struct finding finding = {.id = "below_one"};
    char part[80], where[80];
    struct some some = find(&analysis->rows, arm, metric->name);
    bool many = (double)some.told >= SCANS_BELOW_SHARE * (double)some.rows;
    if (!metric->below_one || !some.told || !many)
        return 0;
    (void)say_part(analysis->result, arm, NULL, part, sizeof(part));
    (void)say_in_part(analysis->result, arm, NULL, where, sizeof(where));
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s, %s%s%s%s%s", arm->bench->name,
                   metric->name, part[0] ? ", " : "", part, where[0] ? ", " : "", where);
    (void)snprintf(finding.sentence, sizeof(finding.sentence), "%.3f: %s", some.row->median,
                   metric->below_one);
    say_where(arm->bench, &some, finding.evidence, sizeof(finding.evidence));
    return findings_add(findings, &finding, err);
}

int scans_find(const struct analysis *analysis, struct findings *findings, struct err *err)
{
    const struct result *result = analysis->result;
    int rc = 0;
    for (size_t i = 0; i < result->narms; i++) {
        const struct bench *bench = result->arms[i].bench;
        if (!bench->scan || !analysis->rounds.arms[i].n)
            continue;
        for (const struct bench_metric *metric = bench->metrics; metric && metric->name && !rc;
             metric++)
            rc = judge_metric(analysis, &result->arms[i], metric, findings, err);
    }
    return rc;
}
