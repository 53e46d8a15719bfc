#include "harness/judge/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"

int comparisons_add(struct comparisons *comparisons, const struct comparison *comparison,
                    struct err *err)
{
    struct comparison *grown =
        array_grown(comparisons->all, comparisons->n, &comparisons->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %zu comparisons", comparisons->n + 1);
    comparisons->all = grown;
    grown[comparisons->n++] = *comparison;
    return 0;
}

void comparisons_free(struct comparisons *comparisons)
{
    free(comparisons->all);
    *comparisons = (struct comparisons){0};
}

static enum finding_severity severity_of(const struct comparison *comparison)
{
    if (comparison->outcome == OUTCOME_SLOWER)
        return FINDING_BAD;
    bool open = comparison->outcome == OUTCOME_UNCLEAR || comparison->outcome == OUTCOME_MISSING;
    return open && comparison->gates ? FINDING_DOUBT : FINDING_NOTE;
}

void comparison_to_finding(const struct comparison *comparison, struct finding *finding)
{
    *finding = (struct finding){
        .severity = severity_of(comparison),
        .outcome = comparison->outcome,
        .value = comparison->ratio,
        .low = comparison->low,
        .high = comparison->high,
        .unit = "ratio",
    };
    (void)snprintf(finding->id, sizeof(finding->id), "change_%.24s", comparison->metric);
    (void)snprintf(finding->subject, sizeof(finding->subject), "%s", comparison->arm);
    (void)snprintf(finding->metric, sizeof(finding->metric), "%s", comparison->metric);
    (void)snprintf(finding->sentence, sizeof(finding->sentence), "%s", comparison->reason);
    if (!isnan(comparison->base_median) && !isnan(comparison->other_median))
        (void)snprintf(finding->evidence, sizeof(finding->evidence), "%s %.6g %.20s, %s %.6g %.20s",
                       comparison->base, comparison->base_median, comparison->unit,
                       comparison->other, comparison->other_median, comparison->unit);
}
