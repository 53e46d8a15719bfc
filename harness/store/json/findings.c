#include "harness/store/json/findings.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/store/json/value.h"

/* What only checks and comparisons have. */
static int add_outcome(json_t *object, const struct finding *finding)
{
    if (!object || finding->outcome == OUTCOME_NONE)
        return 0;
    int rc =
        json_object_set_new(object, "outcome", json_string(finding_outcome_name(finding->outcome)));
    rc |= json_object_set_new(object, "cause", json_value_text_or_null(finding->cause));
    rc |= json_object_set_new(object, "metric", json_value_text_or_null(finding->metric));
    if (!finding->metric[0])
        return rc;
    rc |= json_object_set_new(object, "unit", json_value_text(finding->unit));
    rc |= json_object_set_new(object, "value", json_value_real(finding->value));
    rc |= json_object_set_new(object, "low", json_value_real(finding->low));
    return rc | json_object_set_new(object, "high", json_value_real(finding->high));
}

static json_t *to_json(const struct finding *finding)
{
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "id", finding->id, "severity",
                               finding_severity_name(finding->severity), "subject",
                               json_value_text_or_null(finding->subject), "sentence",
                               json_value_text(finding->sentence), "evidence",
                               json_value_text_or_null(finding->evidence), "command",
                               json_value_text_or_null(finding->command));
    if (add_outcome(object, finding)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *findings_to_json(const struct findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; array && findings && i < findings->n; i++)
        if (json_array_append_new(array, to_json(&findings->all[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* False where the name is of none. */
static bool find_severity(const char *name, enum finding_severity *severity)
{
    for (int i = 0; name && i < FINDING_SEVERITIES; i++)
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
        if (!find_severity(json_string_value(json_object_get(object, "severity")),
                           &finding.severity))
            continue;
        json_value_copy_text(object, "id", finding.id, sizeof(finding.id));
        json_value_copy_text(object, "subject", finding.subject, sizeof(finding.subject));
        json_value_copy_text(object, "sentence", finding.sentence, sizeof(finding.sentence));
        json_value_copy_text(object, "evidence", finding.evidence, sizeof(finding.evidence));
        json_value_copy_text(object, "command", finding.command, sizeof(finding.command));
        json_value_copy_text(object, "cause", finding.cause, sizeof(finding.cause));
        json_value_copy_text(object, "metric", finding.metric, sizeof(finding.metric));
        json_value_copy_text(object, "unit", finding.unit, sizeof(finding.unit));
        finding.outcome =
            finding_outcome_find(json_string_value(json_object_get(object, "outcome")));
        finding.value = json_value_number_of(object, "value");
        finding.low = json_value_number_of(object, "low");
        finding.high = json_value_number_of(object, "high");
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}
