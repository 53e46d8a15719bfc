/* Offences in words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/rows/row.h"
#include "harness/validate/fleet/judge.h"
#include "harness/validate/fleet/say.h"

enum { PART_MAX = 64 };

/* Parts of keys that are of one thing among equal ones. */
static const char *const unit_names[] = {"gpu=", "rank=", "src=", "dst=", "from=", "to=", "node="};

static bool has_part(const char *key, const char *part)
{
    char params[FLEET_KEY_MAX];
    return row_params_have(fleet_key_column(key, FLEET_PARAMS, params, sizeof(params)), part);
}

/* Whether the machine has no figure at all of that part. */
static bool lacks_part(const struct fleet *fleet, const struct bounds *bounds,
                       const struct fleet_judgement *judgement, uint32_t machine, const char *part)
{
    for (size_t i = 0; i < bounds->n; i++)
        if (has_part(bounds->all[i].key, part) && fleet_judged_cell(fleet, judgement, i, machine))
            return false;
    return true;
}

/* "gpu=7", where all figures with that are missing and the first one has it; or "". */
static void find_part(const struct fleet *fleet, const struct bounds *bounds,
                      const struct fleet_judgement *judgement, const struct fleet_offence *offence,
                      char part[static PART_MAX])
{
    const char *key = bounds->all[offence->bound].key;
    for (size_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++) {
        const char *at = strstr(key, unit_names[i]);
        if (!at)
            continue;
        (void)snprintf(part, PART_MAX, "%.*s", (int)strcspn(at, ";\037"), at);
        if (has_part(key, part) && lacks_part(fleet, bounds, judgement, offence->machine, part))
            return;
    }
    part[0] = '\0';
}

static char *say_lacking(const struct fleet *fleet, const struct bounds *bounds,
                         const struct fleet_judgement *judgement,
                         const struct fleet_offence *offence, char *buf, size_t size)
{
    char part[PART_MAX], figure[FLEET_SAID_MAX];
    const char *trouble =
        fleet_trouble_of(fleet, offence->machine, bounds->all[offence->bound].key);
    find_part(fleet, bounds, judgement, offence, part);
    (void)snprintf(buf, size, "lacks %s%s%s%s",
                   *part ? part
                         : fleet_key_say(bounds->all[offence->bound].key, figure, sizeof(figure)),
                   *trouble ? " (" : "", trouble, *trouble ? ")" : "");
    return buf;
}

char *fleet_offence_what(const struct fleet *fleet, const struct bounds *bounds,
                         const struct fleet_judgement *judgement,
                         const struct fleet_offence *offence, char *buf, size_t size)
{
    char figure[FLEET_SAID_MAX];
    switch (offence->kind) {
    case OFFENCE_VERDICT:
        (void)snprintf(buf, size, "its own rules: %s", fleet->machines[offence->machine].verdict);
        break;
    case OFFENCE_LACKS:
        return say_lacking(fleet, bounds, judgement, offence, buf, size);
    case OFFENCE_FIGURE:
        (void)snprintf(buf, size, "%s%s",
                       fleet_key_say(bounds->all[offence->bound].key, figure, sizeof(figure)),
                       offence->noisy ? " (disturbed)" : "");
        break;
    case OFFENCE_DRIFT:
        (void)snprintf(buf, size, "drift of %s",
                       fleet_key_say(bounds->all[offence->bound].key, figure, sizeof(figure)));
        break;
    case OFFENCE_OVERALL:
        (void)snprintf(buf, size, "all figures together are worse");
        break;
    case OFFENCE_KIND:
    case OFFENCE_KINDS:
        (void)snprintf(buf, size, "another kind: %s",
                       intern_text(&fleet->kinds, fleet->machines[offence->machine].kind));
        break;
    }
    return buf;
}

/* "-41%", "+12%", "1.9x". */
static void say_ratio(double ratio, char *buf, size_t size)
{
    if (ratio >= 2)
        (void)snprintf(buf, size, "%.3gx", ratio);
    else
        (void)snprintf(buf, size, "%+.*f%%", fabs(ratio - 1) < 0.0995 ? 1 : 0, 100 * (ratio - 1));
}

char *fleet_offence_much(const struct fleet_offence *offence, char *buf, size_t size)
{
    char ratio[24];
    say_ratio(offence->ratio, ratio, sizeof(ratio));
    if (offence->kind == OFFENCE_LACKS)
        (void)snprintf(buf, size, "%zu figure%s", offence->count, offence->count == 1 ? "" : "s");
    else if (offence->kind == OFFENCE_DRIFT)
        (void)snprintf(buf, size, "%s in %zu runs", ratio, offence->count);
    else
        (void)snprintf(buf, size, "%s",
                       offence->kind == OFFENCE_KIND || offence->kind == OFFENCE_VERDICT ? ""
                                                                                         : ratio);
    return buf;
}

/* "3.35 TB/s" would hide the unit that the file has: the number as it stands there. */
static void say_bounds(const struct bound *bound, double value, char *buf, size_t size)
{
    char low[32] = "", high[32] = "";
    if (!isnan(bound->lower))
        (void)snprintf(low, sizeof(low), "%.4g to ", bound->lower);
    if (!isnan(bound->upper))
        (void)snprintf(high, sizeof(high), "%.4g", bound->upper);
    (void)snprintf(buf, size, "%.4g %s; %.4g is usual, %s%s passes", value, bound->unit,
                   bound->reference, *low ? low : "up to ", *high ? high : "any");
}

static void fill_numbers(const struct bounds *bounds, const struct fleet_offence *offence,
                         struct finding *finding)
{
    finding->value = finding->low = finding->high = NAN;
    if (offence->kind == OFFENCE_LACKS || offence->kind == OFFENCE_OVERALL) {
        bool lacks = offence->kind == OFFENCE_LACKS;
        (void)snprintf(finding->metric, sizeof(finding->metric), lacks ? "missing" : "overall");
        (void)snprintf(finding->unit, sizeof(finding->unit), lacks ? "figures" : "ratio");
        finding->value = lacks ? (double)offence->count : offence->ratio;
    } else if (offence->kind == OFFENCE_FIGURE || offence->kind == OFFENCE_DRIFT) {
        const struct bound *bound = &bounds->all[offence->bound];
        (void)fleet_key_column(bound->key, FLEET_METRIC, finding->metric, sizeof(finding->metric));
        (void)snprintf(finding->unit, sizeof(finding->unit), "%s", bound->unit);
        finding->value = offence->value;
        finding->low = bound->lower;
        finding->high = bound->upper;
        say_bounds(bound, offence->value, finding->evidence, sizeof(finding->evidence));
    }
}

static const char *cause_of(const struct fleet_offence *offence)
{
    return offence->noisy ? "setup" : offence->kind == OFFENCE_KIND ? "hardware" : "";
}

static void say_offence(const struct fleet *fleet, const struct bounds *bounds,
                        const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, struct finding *finding)
{
    char what[sizeof(finding->sentence) / 2], much[FLEET_SAID_MAX];
    (void)fleet_offence_what(fleet, bounds, judgement, offence, what, sizeof(what));
    (void)fleet_offence_much(offence, much, sizeof(much));
    finding->severity = offence->outcome == OUTCOME_FAIL ? FINDING_BAD : FINDING_DOUBT;
    finding->outcome = offence->outcome;
    (void)snprintf(finding->id, sizeof(finding->id), "%s", fleet_offence_id(offence->kind));
    (void)snprintf(finding->cause, sizeof(finding->cause), "%s", cause_of(offence));
    (void)snprintf(finding->sentence, sizeof(finding->sentence), "%s%s%s", what, *much ? ": " : "",
                   much);
    fill_numbers(bounds, offence, finding);
}

static int add_machine(const struct fleet *fleet, const struct bounds *bounds,
                       const struct fleet_judgement *judgement, const struct fleet_judged *machine,
                       struct findings *findings, struct err *err)
{
    struct finding finding = {0};
    int rc = 0;
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s",
                   intern_text(&fleet->names, machine->machine));
    if (!machine->noffences) {
        finding.outcome = machine->outcome;
        finding.severity = FINDING_NOTE;
        finding.value = finding.low = finding.high = NAN;
        (void)snprintf(finding.id, sizeof(finding.id), "fleet_machine");
        if (machine->outcome == OUTCOME_SKIP)
            (void)snprintf(finding.sentence, sizeof(finding.sentence), FLEET_NOT_JUDGED);
        else
            (void)snprintf(finding.sentence, sizeof(finding.sentence),
                           "nothing is off: %zu figures at most were looked at", bounds->n);
        return findings_add(findings, &finding, err);
    }
    for (size_t i = 0; i < machine->noffences && i < FLEET_FINDINGS_A_MACHINE && !rc; i++) {
        const struct fleet_offence *offence = &judgement->offences[machine->first + i];
        struct finding one = finding;
        say_offence(fleet, bounds, judgement, offence, &one);
        size_t more = machine->noffences - i - 1;
        size_t used = strlen(one.sentence);
        if (i + 1 == FLEET_FINDINGS_A_MACHINE && more)
            (void)snprintf(one.sentence + used, sizeof(one.sentence) - used, "; %zu more are off",
                           more);
        rc = findings_add(findings, &one, err);
    }
    return rc;
}

int fleet_findings(const struct fleet *fleet, const struct bounds *bounds,
                   const struct fleet_judgement *judgement, struct findings *findings,
                   struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < judgement->nmachines && !rc; i++)
        rc = add_machine(fleet, bounds, judgement, &judgement->machines[i], findings, err);
    return rc;
}
