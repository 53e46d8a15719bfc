#include "harness/record/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int analysis_make_round(const struct result *result, unsigned round, struct analysis *analysis,
                        struct err *err)
{
    struct result *alone = malloc(sizeof(*alone) + result->narms * sizeof(*alone->arms));
    *analysis = (struct analysis){0};
    if (!alone)
        return err_set(err, -ENOMEM, "out of memory for round %u", round + 1);
    *alone = *result;
    alone->arms = memcpy(alone + 1, result->arms, result->narms * sizeof(*alone->arms));
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &alone->arms[i];
        arm->observations = arm_observation(arm, round);
        arm->nobservations = arm->observations != NULL;
    }
    int rc = analysis_make(alone, analysis, err);
    analysis->round = alone;
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
    free(analysis->round);
    *analysis = (struct analysis){0};
}
