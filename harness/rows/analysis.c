#include "harness/rows/analysis.h"

int analysis_make(const struct result *result, struct analysis *analysis, struct err *err)
{
    *analysis = (struct analysis){.result = result};
    int rc = rounds_make(result, &analysis->rounds, err);
    if (!rc)
        rc = values_make(result, &analysis->rounds, &analysis->values, err);
    if (!rc)
        rc = rows_make(result, &analysis->rounds, &analysis->values, &analysis->rows, err);
    return rc;
}

struct analysis analysis_measured(const struct analysis *whole, struct result *result)
{
    struct analysis measured = *whole;
    size_t narms = result_measured(whole->result);
    *result = *whole->result;
    result->narms = narms;
    measured.result = result;
    measured.rounds.narms = narms;
    measured.values.narms = narms;
    measured.values.n = whole->values.first ? whole->values.first[narms] : 0;
    while (measured.rows.n && measured.rows.row[measured.rows.n - 1].arm->canary)
        measured.rows.n--;
    return measured;
}

struct paired_ratio analysis_ratio(const struct analysis *analysis, int slow, size_t fast)
{
    return slow < 0 ? PAIRED_NONE
                    : values_ratio(&analysis->values, (size_t)slow, fast, analysis->result->seed);
}

void analysis_free(struct analysis *analysis)
{
    rows_free(&analysis->rows);
    values_free(&analysis->values);
    rounds_free(&analysis->rounds);
    *analysis = (struct analysis){0};
}
