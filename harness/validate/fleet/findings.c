/* Offences as sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/row.h"
#include "harness/validate/fleet/judge.h"

enum { PART_MAX = 64, FIGURE_MAX = 160 };

/* Parts of keys that name one of several equal units. */
static const char *const unit_names[] = {"gpu=", "rank=", "src=", "dst=", "from=", "to=", "node="};

static bool has_part(const char *key, const char *part)
{
    char params[FLEET_KEY_MAX];
    return text_has_words(fleet_key_column(key, FLEET_PARAMS, params, sizeof(params)), ';', part);
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

static void put_lacking(const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, const char *figure, char *buf,
                        size_t size)
{
    char part[PART_MAX];
    const char *key = judgement->bounds->all[offence->bound].key;
    const char *reason = fleet_missing_reason_of(judgement->fleet, offence->machine, key);
    find_part(judgement, offence, part);
    (void)snprintf(buf, size, "lacks %s%s%s%s", *part ? part : figure, *reason ? " (" : "", reason,
                   *reason ? ")" : "");
}

/* "55.1 GB/s; 101 is usual, 90 to 110 passes", and the first run's value if there are many runs. */
static void put_evidence(const struct fleet *fleet, const struct bound *bound,
                         const struct fleet_cell *cell, char *buf, size_t size)
{
    char low[32] = "", high[32] = "", first[64] = "";
    if (!isnan(bound->lower))
        (void)snprintf(low, sizeof(low), "%s to ", UNITS_PLAIN(4, bound->lower));
    if (!isnan(bound->upper))
        (void)snprintf(high, sizeof(high), "%s", UNITS_PLAIN(4, bound->upper));
    if (cell->nvalues > FLEET_NEWEST)
        (void)snprintf(first, sizeof(first), "; %s in the first of %u runs",
                       UNITS_PLAIN(4, (double)fleet->values[cell->first].value), cell->nvalues);
    (void)snprintf(buf, size, "%s %s; %s is usual, %s%s passes%s", UNITS_PLAIN(4, cell->value),
                   bound->unit, UNITS_PLAIN(4, bound->reference), *low ? low : "up to ",
                   *high ? high : "any", first);
}

static void fill_figure(const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, struct finding *finding)
{
    const struct bound *bound = &judgement->bounds->all[offence->bound];
    const struct fleet_cell *cell = fleet_judged_cell(judgement, offence->bound, offence->machine);
    (void)fleet_key_column(bound->key, FLEET_METRIC, finding->metric, sizeof(finding->metric));
    (void)snprintf(finding->unit, sizeof(finding->unit), "%s", bound->unit);
    finding->value = cell->value;
    finding->low = bound->lower;
    finding->high = bound->upper;
    put_evidence(judgement->fleet, bound, cell, finding->evidence, sizeof(finding->evidence));
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
static void put_ratio(double ratio, char *buf, size_t size)
{
    if (ratio >= 2)
        (void)snprintf(buf, size, "%sx", UNITS_PLAIN(3, ratio));
    else
        (void)snprintf(buf, size, "%+.*f%%", fabs(ratio - 1) < 0.0995 ? 1 : 0, 100 * (ratio - 1));
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
    char figure[FIGURE_MAX], much[32] = "";
    *finding = begin(judgement, offence->machine, offence->outcome, ids[offence->kind]);
    char *what = finding->sentence;
    const size_t size = sizeof(finding->sentence) / 2;
    put_ratio(offence->ratio, much, sizeof(much));
    if (offence->kind == OFFENCE_LACKS || offence->kind == OFFENCE_FIGURE)
        (void)fleet_key_format(judgement->bounds->all[offence->bound].key, figure, sizeof(figure));
    switch (offence->kind) {
    case OFFENCE_KIND:
        (void)snprintf(what, size, "another kind: %s",
                       intern_text(&judgement->fleet->kinds, machine->kind));
        (void)snprintf(finding->cause, sizeof(finding->cause), "hardware");
        much[0] = '\0';
        break;
    case OFFENCE_VERDICT:
        (void)snprintf(what, size, "its own rules: %s", machine->verdict);
        much[0] = '\0';
        break;
    case OFFENCE_LACKS:
        put_lacking(judgement, offence, figure, what, size);
        fill_number(finding, "missing", "figures", (double)offence->count);
        (void)snprintf(much, sizeof(much), "%zu figure%s", offence->count,
                       offence->count == 1 ? "" : "s");
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
