#include "tests/fuzz/judged.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/validate/bounds.h"
#include "harness/validate/judge.h"

static void judge(const struct fleet *fleet, const struct bounds *bounds)
{
    struct fleet_judgement judgement = {0};
    struct findings findings = {0};
    struct err err = {0};
    if (fleet_judge(fleet, bounds, NULL, &judgement, &err))
        abort();
    fleet_findings(&judgement, &findings);
    if (!findings.n)
        abort();
    findings_free(&findings);
    fleet_judgement_free(&judgement);
}

void judge_and_free(struct fleet *fleet)
{
    struct bounds bounds = {0};
    struct err err = {0};
    if (fleet_arrange(fleet, &err))
        abort();
    for (size_t i = 0; i < fleet->ncells; i++)
        if (!isfinite(fleet->cells[i].value))
            abort();
    int rc = bounds_make(fleet, &bounds, &err);
    if (rc && rc != -ENODATA)
        abort();
    if (!rc)
        judge(fleet, &bounds);
    bounds_free(&bounds);
    fleet_free(fleet);
}
