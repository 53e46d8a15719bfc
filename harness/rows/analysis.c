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

void analysis_free(struct analysis *analysis)
{
    rows_free(&analysis->rows);
    values_free(&analysis->values);
    rounds_free(&analysis->rounds);
    *analysis = (struct analysis){0};
}
