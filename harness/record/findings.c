#include "harness/record/findings.h"

#include <stdbool.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/json_value.h"

static json_t *to_json(const void *of, size_t i)
{
    const struct finding *finding = &((const struct findings *)of)->all[i];
    json_t *object =
        json_value_object("id:t severity:t subject:T sentence:t evidence:T command:T", finding->id,
                          finding_severity_name(finding->severity), finding->subject,
                          finding->sentence, finding->evidence, finding->command);
    int failed = 0;
    if (finding->outcome != OUTCOME_NONE) /* only checks and comparisons have one */
        failed |=
            json_value_add(object, "outcome:t cause:T metric:T",
                           finding_outcome_name(finding->outcome), finding->cause, finding->metric);
    if (finding->outcome != OUTCOME_NONE && finding->metric[0])
        failed |= json_value_add(object, "unit:t value:r low:r high:r", finding->unit,
                                 finding->value, finding->low, finding->high);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

json_t *findings_to_json(const struct findings *findings)
{
    return json_value_array(findings, findings ? findings->n : 0, to_json);
}

/* False if no severity has that name. */
static bool find_severity(const char *name, enum finding_severity *severity)
{
    for (int i = 0; i < FINDING_SEVERITIES; i++)
        if (strcmp(finding_severity_name((enum finding_severity)i), name) == 0) {
            *severity = (enum finding_severity)i;
            return true;
        }
    return false;
}

int findings_from_json(const json_t *json, struct findings *findings, struct err *err)
{
    int rc = 0;
    *findings = (struct findings){0};
    for (size_t i = 0; i < json_array_size(json) && !rc; i++) {
        const json_t *object = json_array_get(json, i);
        struct finding finding = {0};
        if (!find_severity(json_value_text_of(object, "severity"), &finding.severity))
            continue;
        text_set(finding.id, "%s", json_value_copy_text(object, "id"));
        text_set(finding.subject, "%s", json_value_copy_text(object, "subject"));
        text_set(finding.sentence, "%s", json_value_copy_text(object, "sentence"));
        text_set(finding.evidence, "%s", json_value_copy_text(object, "evidence"));
        text_set(finding.command, "%s", json_value_copy_text(object, "command"));
        text_set(finding.cause, "%s", json_value_copy_text(object, "cause"));
        text_set(finding.metric, "%s", json_value_copy_text(object, "metric"));
        text_set(finding.unit, "%s", json_value_copy_text(object, "unit"));
        finding.outcome = finding_outcome_find(json_value_text_of(object, "outcome"));
        finding.value = json_value_number_of(object, "value");
        finding.low = json_value_number_of(object, "low");
        finding.high = json_value_number_of(object, "high");
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}
