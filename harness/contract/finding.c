#include "harness/contract/finding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[FINDING_SEVERITIES] = {"note", "doubt", "bad"};
    return names[severity];
}

const char *finding_outcome_name(enum finding_outcome outcome)
{
    static const char *const names[OUTCOMES] = {
        [OUTCOME_NONE] = "",           [OUTCOME_PASS] = "PASS",       [OUTCOME_WARN] = "WARN",
        [OUTCOME_FAIL] = "FAIL",       [OUTCOME_SKIP] = "SKIP",       [OUTCOME_ERROR] = "ERROR",
        [OUTCOME_FASTER] = "FASTER",   [OUTCOME_SLOWER] = "SLOWER",   [OUTCOME_SAME] = "SAME",
        [OUTCOME_UNCLEAR] = "UNCLEAR", [OUTCOME_MISSING] = "MISSING",
    };
    return names[outcome];
}

enum finding_outcome finding_outcome_find(const char *name)
{
    for (int i = 0; name && i < OUTCOMES; i++)
        if (strcmp(finding_outcome_name((enum finding_outcome)i), name) == 0)
            return (enum finding_outcome)i;
    return OUTCOME_NONE;
}

int findings_add(struct findings *findings, const struct finding *finding, struct err *err)
{
    struct finding *grown =
        array_grown(findings->all, findings->n, &findings->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %zu findings", findings->n + 1);
    findings->all = grown;
    grown[findings->n++] = *finding;
    return 0;
}

int findings_tell(struct findings *findings, const struct finding *head, const char *id,
                  const char *subject, const char *fmt, va_list args, struct err *err)
{
    struct finding finding = *head;
    (void)vsnprintf(finding.sentence, sizeof(finding.sentence), fmt, args);
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s", subject);
    return findings_add(findings, &finding, err);
}

void findings_free(struct findings *findings)
{
    free(findings->all);
    *findings = (struct findings){0};
}
