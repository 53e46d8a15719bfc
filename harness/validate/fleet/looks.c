#include "harness/validate/fleet/looks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/validate/fleet/say.h"
#include "harness/validate/rules/rules.h"

int fleet_look_judge(struct fleet_look *look, const struct bounds *bounds, struct err *err)
{
    int rc = fleet_arrange(&look->fleet, err);
    return rc ? rc : fleet_judge(&look->fleet, bounds, NULL, &look->judgement, err);
}

void fleet_look_free(struct fleet_look *look)
{
    fleet_judgement_free(&look->judgement);
    fleet_free(&look->fleet);
}

static bool is_of(const struct fleet_look *look, const struct bounds *bounds,
                  const struct fleet_offence *offence, size_t bound)
{
    switch (offence->kind) {
    case OFFENCE_FIGURE:
    case OFFENCE_DRIFT:
        return bound == offence->bound;
    case OFFENCE_LACKS:
        return bounds->all[bound].required &&
               !fleet_judged_cell(&look->fleet, &look->judgement, bound, offence->machine);
    case OFFENCE_OVERALL:
        return true;
    case OFFENCE_VERDICT:
    case OFFENCE_KIND:
    case OFFENCE_KINDS:
        break;
    }
    return false;
}

bool fleet_look_doubts(const struct fleet_look *look, const struct bounds *bounds,
                       void (*doubt)(void *arg, const char *key), void *arg)
{
    bool any = false;
    for (size_t i = 0; i < look->judgement.noffences; i++)
        for (size_t b = 0; b < bounds->n; b++)
            if (is_of(look, bounds, &look->judgement.offences[i], b)) {
                doubt(arg, bounds->all[b].key);
                any = true;
            }
    return any;
}

/* The same of the other look; NULL: it is not there. */
static const struct fleet_offence *find_again(const struct fleet_look *look,
                                              const struct fleet_offence *offence)
{
    for (size_t i = 0; i < look->judgement.noffences; i++) {
        const struct fleet_offence *other = &look->judgement.offences[i];
        bool is_figure = other->kind == OFFENCE_FIGURE || other->kind == OFFENCE_DRIFT;
        if (other->kind == offence->kind && (!is_figure || other->bound == offence->bound))
            return other;
    }
    return NULL;
}

/* What the second look gave for it. */
static struct finding seen_again(const struct fleet_look *second,
                                 const struct fleet_offence *offence, const struct finding *first)
{
    struct finding again = *first;
    const struct fleet_offence *other = find_again(second, offence);
    const struct fleet_cell *cell = offence->kind == OFFENCE_FIGURE
                                        ? fleet_judged_cell(&second->fleet, &second->judgement,
                                                            offence->bound, offence->machine)
                                        : NULL;
    again.outcome = other ? other->outcome : OUTCOME_PASS;
    again.value = cell ? cell->value : (double)NAN;
    return again;
}

/* The bounds stay in front of the two results. */
static void add_look(const struct fleet_look *second, const struct fleet_offence *offence,
                     struct finding *finding)
{
    char bounds[sizeof(finding->evidence)];
    const struct finding again = seen_again(second, offence, finding);
    bool is_lost = offence->kind == OFFENCE_FIGURE && isnan(again.value);
    (void)snprintf(bounds, sizeof(bounds), "%s", finding->evidence);
    rules_merge_looks(finding, is_lost ? NULL : &again);
    size_t used = strlen(finding->evidence);
    if (bounds[0])
        (void)snprintf(finding->evidence + used, sizeof(finding->evidence) - used, "; %.120s",
                       bounds);
}

static int add_first(const struct fleet_look *first, const struct fleet_look *second,
                     const struct findings *told, struct findings *findings, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < told->n && !rc; i++) {
        struct finding finding = told->all[i];
        if (second && i < first->judgement.noffences)
            add_look(second, &first->judgement.offences[i], &finding);
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}

static int add_late(const struct fleet_look *first, const struct fleet_look *second,
                    const struct findings *told, struct findings *findings, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < told->n && i < second->judgement.noffences && !rc; i++) {
        struct finding finding = told->all[i];
        if (find_again(first, &second->judgement.offences[i]))
            continue;
        finding.outcome = OUTCOME_WARN;
        finding.severity = FINDING_DOUBT;
        (void)snprintf(finding.evidence, sizeof(finding.evidence), "on the second look alone");
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}

int fleet_look_findings(const struct fleet_look *first, const struct fleet_look *second,
                        const struct bounds *bounds, struct findings *findings, struct err *err)
{
    struct findings told = {0}, late = {0};
    int rc = fleet_findings(&first->fleet, bounds, &first->judgement, &told, err);
    if (!rc && second)
        rc = fleet_findings(&second->fleet, bounds, &second->judgement, &late, err);
    if (!rc)
        rc = add_first(first, second, &told, findings, err);
    if (!rc && second)
        rc = add_late(first, second, &late, findings, err);
    findings_free(&told);
    findings_free(&late);
    return rc;
}
