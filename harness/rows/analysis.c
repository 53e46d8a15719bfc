#include "harness/rows/analysis.h"

#include <stdlib.h>

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

struct analysis analysis_measured(const struct analysis *full, struct result *result)
{
    struct analysis measured = *full;
    size_t narms = result_measured(full->result);
    *result = *full->result;
    result->narms = narms;
    measured.result = result;
    measured.rounds.narms = narms;
    measured.values.narms = narms;
    measured.values.n = full->values.first ? full->values.first[narms] : 0;
    while (measured.rows.n && measured.rows.row[measured.rows.n - 1].arm->is_control)
        measured.rows.n--;
    return measured;
}

void analysis_free(struct analysis *analysis)
{
    free(analysis->recommended);
    rows_free(&analysis->rows);
    values_free(&analysis->values);
    rounds_free(&analysis->rounds);
    *analysis = (struct analysis){0};
}
