#include "harness/json/findings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/json/value.h"

static json_t *to_json(const struct finding *finding)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "id", finding->id, "severity",
                     finding_severity_name(finding->severity), "subject",
                     json_value_text_or_null(finding->subject), "sentence",
                     json_value_text(finding->sentence), "evidence",
                     json_value_text_or_null(finding->evidence), "command",
                     json_value_text_or_null(finding->command));
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

static void copy(const json_t *object, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    (void)snprintf(to, size, "%s", text ? text : "");
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
        copy(object, "id", finding.id, sizeof(finding.id));
        copy(object, "subject", finding.subject, sizeof(finding.subject));
        copy(object, "sentence", finding.sentence, sizeof(finding.sentence));
        copy(object, "evidence", finding.evidence, sizeof(finding.evidence));
        copy(object, "command", finding.command, sizeof(finding.command));
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}
