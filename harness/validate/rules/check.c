#include "harness/validate/rules/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text ? text : "");
}

static void copy_number(const struct check *check, struct finding *finding)
{
    copy(finding->metric, sizeof(finding->metric), check->metric);
    copy(finding->unit, sizeof(finding->unit), check->in);
    finding->value = check->value;
    finding->low = check->low;
    finding->high = check->high;
}

static bool is_same_number(const struct finding *a, const struct finding *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->metric, b->metric) == 0 && a->value == b->value;
}

void check_number(struct checks *checks, enum finding_outcome outcome, const struct check *check)
{
    struct findings *numbers = checks->numbers;
    struct finding *last = numbers->n ? &numbers->all[numbers->n - 1] : NULL;
    struct finding number = {.outcome = outcome};
    if (!check->metric || isnan(check->value))
        return;
    copy(number.id, sizeof(number.id), checks->rule->id);
    copy(number.subject, sizeof(number.subject), check->unit);
    copy_number(check, &number);
    if (!last || !is_same_number(last, &number)) {
        findings_put(numbers, &number);
        return;
    }
    last->low = isnan(last->low) ? number.low : last->low;
    last->high = isnan(last->high) ? number.high : last->high;
    last->outcome = last->outcome == OUTCOME_PASS ? outcome : last->outcome;
}

void check_report(struct checks *checks, enum finding_outcome outcome, const struct check *check,
                  const char *fmt, ...)
{
    static const struct check none;
    va_list args;
    const struct rule *rule = checks->rule;
    bool wrong = outcome == OUTCOME_FAIL || outcome == OUTCOME_WARN;
    bool bad = outcome == OUTCOME_FAIL || outcome == OUTCOME_ERROR;
    struct finding finding = {.outcome = outcome, .value = NAN, .low = NAN, .high = NAN};
    if (!check)
        check = &none;
    finding.severity = bad ? FINDING_BAD : wrong || check->open ? FINDING_DOUBT : FINDING_NOTE;
    copy(finding.id, sizeof(finding.id), rule->id);
    copy(finding.subject, sizeof(finding.subject), check->unit);
    copy(finding.evidence, sizeof(finding.evidence), check->evidence);
    if (wrong)
        copy(finding.cause, sizeof(finding.cause), check->cause ? check->cause : rule->cause);
    if (wrong || check->command)
        copy(finding.command, sizeof(finding.command),
             check->command ? check->command : rule->command);
    if (check->metric)
        copy_number(check, &finding);
    va_start(args, fmt);
    (void)vsnprintf(finding.sentence, sizeof(finding.sentence), fmt, args);
    va_end(args);
    findings_put(checks->findings, &finding);
}

enum facts_probe_name check_probe(const struct checks *checks)
{
    return (enum facts_probe_name)__builtin_ctz(checks->rule->probes);
}

bool check_measured(struct checks *checks, enum facts_probe_name name)
{
    const struct facts_probe *probe = &checks->facts->probes[name];
    const bool needs_nccl = name == PROBE_COLLECTIVE || name == PROBE_COLLECTIVE_STAGED;
    const bool is_absent = checks->rule->of_gpus && !checks->facts->topo->ngpus;
    const struct check open = {.open = probe->status != PROBE_ABSENT && !is_absent};
    if (probe->status == PROBE_HUNG || probe->status == PROBE_FAILED ||
        (probe->status == PROBE_UNSUPPORTED && checks->rule->of_gpus && !needs_nccl))
        check_report(checks, OUTCOME_ERROR, NULL, "%s: %s",
                     probe->status == PROBE_HUNG ? "did not end" : "could not be measured",
                     probe->reason);
    else if (probe->status != PROBE_DONE)
        check_report(checks, OUTCOME_SKIP, &open, "%s",
                     is_absent          ? "no GPU"
                     : probe->reason[0] ? probe->reason
                                        : "not measured");
    return probe->status == PROBE_DONE;
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
        check_report(checks, OUTCOME_FAIL, &(struct check){.unit = value->key}, "%s failed: %s",
                     value->metric, value->why);
    }
    return any;
}

bool check_firmware(struct checks *checks, size_t n)
{
    const struct facts *facts = checks->facts;
    const struct check open = {.open = true};
    if (machine_is_virtual(facts))
        check_report(checks, OUTCOME_SKIP, &open, CHECK_VIRTUAL);
    else if (facts->dmi == FACTS_DENIED)
        check_report(checks, OUTCOME_SKIP, &open, CHECK_DENIED);
    else if (facts->dmi == FACTS_ABSENT || !n)
        check_report(checks, OUTCOME_SKIP, &open, "the firmware has no such table here");
    else
        return true;
    return false;
}
