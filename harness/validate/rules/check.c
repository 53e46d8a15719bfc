#include "harness/validate/rules/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static void say(struct checks *checks, enum finding_outcome outcome, const struct check *check,
                const char *fmt, va_list args) __attribute__((format(printf, 4, 0)));

static void copy(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text ? text : "");
}

static void say(struct checks *checks, enum finding_outcome outcome, const struct check *check,
                const char *fmt, va_list args)
{
    static const struct check none;
    const struct rule *rule = checks->rule;
    bool wrong = outcome == OUTCOME_FAIL || outcome == OUTCOME_WARN;
    bool bad = outcome == OUTCOME_FAIL || outcome == OUTCOME_ERROR;
    struct finding finding = {.severity = bad     ? FINDING_BAD
                                          : wrong ? FINDING_DOUBT
                                                  : FINDING_NOTE,
                              .outcome = outcome,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    if (!check)
        check = &none;
    copy(finding.id, sizeof(finding.id), rule->id);
    copy(finding.subject, sizeof(finding.subject), check->unit);
    copy(finding.evidence, sizeof(finding.evidence), check->evidence);
    if (wrong) {
        copy(finding.cause, sizeof(finding.cause), check->cause ? check->cause : rule->cause);
        copy(finding.command, sizeof(finding.command),
             check->command ? check->command : rule->command);
    }
    if (check->metric) {
        copy(finding.metric, sizeof(finding.metric), check->metric);
        copy(finding.unit, sizeof(finding.unit), check->in);
        finding.value = check->value;
        finding.low = check->low;
        finding.high = check->high;
    }
    (void)vsnprintf(finding.sentence, sizeof(finding.sentence), fmt, args);
    if (!checks->rc)
        checks->rc = findings_add(checks->findings, &finding, checks->err);
}

#define SAY(outcome, check)                                                                        \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, fmt);                                                                       \
        say(checks, outcome, check, fmt, args);                                                    \
        va_end(args);                                                                              \
    } while (0)

void check_fail(struct checks *checks, const struct check *check, const char *fmt, ...)
{
    SAY(OUTCOME_FAIL, check);
}

void check_warn(struct checks *checks, const struct check *check, const char *fmt, ...)
{
    SAY(OUTCOME_WARN, check);
}

void check_pass(struct checks *checks, const char *fmt, ...)
{
    SAY(OUTCOME_PASS, NULL);
}

void check_pass_value(struct checks *checks, const struct check *check, const char *fmt, ...)
{
    SAY(OUTCOME_PASS, check);
}

void check_skip(struct checks *checks, const char *fmt, ...)
{
    SAY(OUTCOME_SKIP, NULL);
}

void check_skip_with(struct checks *checks, const char *evidence, const char *fmt, ...)
{
    SAY(OUTCOME_SKIP, &(struct check){.evidence = evidence});
}

void check_error(struct checks *checks, const char *fmt, ...)
{
    SAY(OUTCOME_ERROR, NULL);
}

enum facts_probe_name check_probe(const struct checks *checks)
{
    return (enum facts_probe_name)__builtin_ctz(checks->rule->probes);
}

bool check_measured(struct checks *checks, enum facts_probe_name name)
{
    const struct facts_probe *probe = &checks->facts->probes[name];
    switch (probe->status) {
    case PROBE_NOT_ASKED:
    case PROBE_ABSENT:
        check_skip(checks, "%s", probe->reason[0] ? probe->reason : "not measured");
        return false;
    case PROBE_FAILED:
        check_error(checks, "could not be measured: %s", probe->reason);
        return false;
    case PROBE_HUNG:
        check_error(checks, "did not end: %s", probe->reason);
        return false;
    case PROBE_DONE:
        return true;
    }
    return false;
}

bool check_lost(struct checks *checks, enum facts_probe_name name)
{
    const struct facts_probe *probe = &checks->facts->probes[name];
    bool any = false;
    for (size_t i = 0; i < probe->n; i++) {
        const struct facts_value *value = &probe->values[i];
        if (!isnan(value->value) || !value->why[0])
            continue;
        any = true;
        check_fail(checks, &(struct check){.unit = value->key}, "%s failed: %s", value->metric,
                   value->why);
    }
    return any;
}

bool check_firmware(struct checks *checks, size_t n)
{
    const struct facts *facts = checks->facts;
    if (is_virtual(facts))
        check_skip(checks, "a virtual machine: its firmware's tables are made up");
    else if (facts->dmi == FACTS_DENIED)
        check_skip(checks, "the firmware's tables are readable as root: sudo contend validate");
    else if (facts->dmi == FACTS_ABSENT || !n)
        check_skip(checks, "the firmware has no such table here");
    else
        return true;
    return false;
}
