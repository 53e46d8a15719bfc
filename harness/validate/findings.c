/* Offences as sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/record/row.h"
#include "harness/validate/judge.h"

enum { PART_MAX = 64 };

/* Parts of keys that name one of several equal units. */
static const char *const unit_names[] = {"gpu=", "rank=", "src=", "dst=", "from=", "to=", "node="};

static bool has_part(const char *key, const char *part)
{
    return text_has_words(fleet_key_column(key, FLEET_PARAMS), ';', part);
}

/* True if the machine has no figure with that part. */
static bool lacks_part(const struct fleet_judgement *judgement, uint32_t machine, const char *part)
{
    for (size_t i = 0; i < judgement->bounds->n; i++)
        if (has_part(judgement->bounds->all[i].key, part) &&
            fleet_judged_cell(judgement, i, machine))
            return false;
    return true;
}

/* "gpu=7" if the machine lacks all figures with that part of the first missing one; or "". */
static void find_part(const struct fleet_judgement *judgement, const struct fleet_offence *offence,
                      char part[static PART_MAX])
{
    const char *key = judgement->bounds->all[offence->bound].key;
    for (size_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++) {
        const char *at = strstr(key, unit_names[i]);
        if (!at)
            continue;
        (void)snprintf(part, PART_MAX, "%.*s", (int)strcspn(at, ";\037"), at);
        if (has_part(key, part) && lacks_part(judgement, offence->machine, part))
            return;
    }
    part[0] = '\0';
}

static const char *put_lacking(const struct fleet_judgement *judgement,
                               const struct fleet_offence *offence, const char *figure)
{
    char part[PART_MAX];
    const char *key = judgement->bounds->all[offence->bound].key;
    const char *reason = fleet_missing_reason_of(judgement->fleet, offence->machine, key);
    find_part(judgement, offence, part);
    return str_fmt("lacks %s%s%s%s", *part ? part : figure, *reason ? " (" : "", reason,
                   *reason ? ")" : "");
}

/* "55.1 GB/s; 101 is usual, 90 to 110 passes", and the first run's value if there are many runs. */
static const char *put_evidence(const struct fleet *fleet, const struct bound *bound,
                                const struct fleet_cell *cell)
{
    char first[64] = "";
    const char *low = !isnan(bound->lower) ? str_fmt("%s to ", units_plain(bound->lower, 4)) : "";
    const char *high = !isnan(bound->upper) ? units_plain(bound->upper, 4) : "";
    if (cell->nvalues > FLEET_NEWEST)
        (void)snprintf(first, sizeof(first), "; %s in the first of %u runs",
                       units_plain((double)fleet->values[cell->first].value, 4), cell->nvalues);
    return str_fmt("%s %s; %s is usual, %s%s passes%s", units_plain(cell->value, 4), bound->unit,
                   units_plain(bound->reference, 4), *low ? low : "up to ", *high ? high : "any",
                   first);
}

static void fill_figure(const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, struct finding *finding)
{
    const struct bound *bound = &judgement->bounds->all[offence->bound];
    const struct fleet_cell *cell = fleet_judged_cell(judgement, offence->bound, offence->machine);
    text_set(finding->metric, "%s", fleet_key_column(bound->key, FLEET_METRIC));
    (void)snprintf(finding->unit, sizeof(finding->unit), "%s", bound->unit);
    finding->value = cell->value;
    finding->low = bound->lower;
    finding->high = bound->upper;
    text_set(finding->evidence, "%s", put_evidence(judgement->fleet, bound, cell));
    if (cell->noisy) {
        text_append(finding->sentence, sizeof(finding->sentence), "", " (disturbed)");
        (void)snprintf(finding->cause, sizeof(finding->cause), "setup");
    }
}

static void fill_number(struct finding *finding, const char *metric, const char *unit, double value)
{
    (void)snprintf(finding->metric, sizeof(finding->metric), "%s", metric);
    (void)snprintf(finding->unit, sizeof(finding->unit), "%s", unit);
    finding->value = value;
}

/* "-41%", "+12%", "1.9x". */
static const char *put_ratio(double ratio)
{
    if (ratio >= 2)
        return str_fmt("%sx", units_plain(ratio, 3));
    return str_fmt("%+.*f%%", fabs(ratio - 1) < 0.0995 ? 1 : 0, 100 * (ratio - 1));
}

static struct finding begin(const struct fleet_judgement *judgement, uint32_t machine,
                            enum finding_outcome outcome, const char *id)
{
    struct finding finding = {.severity = outcome == OUTCOME_FAIL ? FINDING_BAD : FINDING_DOUBT,
                              .outcome = outcome,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s",
                   intern_text(&judgement->fleet->names, machine));
    return finding;
}

const char *fleet_finding(const struct fleet_judgement *judgement,
                          const struct fleet_offence *offence, struct finding *finding)
{
    static const char *const ids[] = {"fleet_kind", "fleet_verdict", "fleet_lacks", "fleet_figure",
                                      "fleet_overall"};
    const struct fleet_machine *machine = &judgement->fleet->machines[offence->machine];
    const char *figure = "";
    *finding = begin(judgement, offence->machine, offence->outcome, ids[offence->kind]);
    char *what = finding->sentence;
    const size_t size = sizeof(finding->sentence) / 2;
    const char *much = put_ratio(offence->ratio);
    if (offence->kind == OFFENCE_LACKS || offence->kind == OFFENCE_FIGURE)
        figure = fleet_key_format(judgement->bounds->all[offence->bound].key);
    switch (offence->kind) {
    case OFFENCE_KIND:
        (void)snprintf(what, size, "another kind: %s",
                       intern_text(&judgement->fleet->kinds, machine->kind));
        (void)snprintf(finding->cause, sizeof(finding->cause), "hardware");
        much = "";
        break;
    case OFFENCE_VERDICT:
        (void)snprintf(what, size, "its own rules: %s", machine->verdict);
        much = "";
        break;
    case OFFENCE_LACKS:
        (void)snprintf(what, size, "%s", put_lacking(judgement, offence, figure));
        fill_number(finding, "missing", "figures", (double)offence->count);
        much = str_fmt("%zu figure%s", offence->count, offence->count == 1 ? "" : "s");
        break;
    case OFFENCE_FIGURE:
        (void)snprintf(what, size, "%s", figure);
        fill_figure(judgement, offence, finding);
        break;
    case OFFENCE_OVERALL:
        (void)snprintf(what, size, "all figures together are worse");
        fill_number(finding, "overall", "ratio", offence->ratio);
        break;
    }
    if (much[0])
        text_append(what, sizeof(finding->sentence), ": ", "%s", much);
    return what + strlen(what) - strlen(much);
}

/* Adds the finding of a machine without an offence. */
static int add_good(const struct fleet_judgement *judgement, const struct fleet_judged *machine,
                    struct findings *findings, struct err *err)
{
    struct finding finding = begin(judgement, machine->machine, machine->outcome, "fleet_machine");
    finding.severity = FINDING_NOTE;
    if (machine->outcome == OUTCOME_SKIP)
        (void)snprintf(finding.sentence, sizeof(finding.sentence), FLEET_NOT_JUDGED);
    else
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "nothing is odd: %zu figures at most were compared", judgement->bounds->n);
    return findings_add(findings, &finding, err);
}

static int add_machine(const struct fleet_judgement *judgement, const struct fleet_judged *machine,
                       struct findings *findings, struct err *err)
{
    int rc = machine->noffences ? 0 : add_good(judgement, machine, findings, err);
    for (size_t i = 0; i < machine->noffences && !rc; i++) {
        struct finding one;
        (void)fleet_finding(judgement, &judgement->offences[machine->first + i], &one);
        rc = findings_add(findings, &one, err);
    }
    return rc;
}

int fleet_findings(const struct fleet_judgement *judgement, struct findings *findings,
                   struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < judgement->nmachines && !rc; i++)
        rc = add_machine(judgement, &judgement->machines[i], findings, err);
    return rc;
}
