#include "harness/core/finding.h"

#include <errno.h>
#include <stdlib.h>

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[FINDING_SEVERITIES] = {"note", "doubt", "bad"};
    return names[severity];
}

int findings_add(struct findings *findings, const struct finding *finding, struct err *err)
{
    if (findings->n == findings->capacity) {
        size_t capacity = findings->capacity ? 2 * findings->capacity : 16;
        struct finding *grown = realloc(findings->all, capacity * sizeof(*grown));
        if (!grown)
            return err_set(err, -ENOMEM, "out of memory for %zu findings", capacity);
        findings->all = grown;
        findings->capacity = capacity;
    }
    findings->all[findings->n++] = *finding;
    return 0;
}

void findings_free(struct findings *findings)
{
    free(findings->all);
    *findings = (struct findings){0};
}
