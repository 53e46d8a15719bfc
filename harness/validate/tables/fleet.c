#include "harness/validate/tables/fleet.h"

#include <string.h>

#include "harness/lib/base/text.h"

static void add_line(const char *name, enum finding_outcome outcome, const char *much,
                     const char *what, struct doc_table *table)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    doc_cell(table, "%s", finding_outcome_name(outcome));
    doc_tone(table, outcome == OUTCOME_FAIL ? DOC_BAD : DOC_PLAIN);
    doc_cell(table, "%s", much);
    doc_cell(table, "%s", what);
}

static void add_offence(const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, bool is_first, struct doc_table *table)
{
    struct finding finding;
    char what[sizeof(finding.sentence) + sizeof(finding.evidence)];
    const char *much = fleet_finding(judgement, offence, &finding);
    (void)snprintf(what, sizeof(what), "%.*s%s%s",
                   (int)(much - finding.sentence) - (*much ? (int)strlen(": ") : 0),
                   finding.sentence, finding.evidence[0] ? ": " : "", finding.evidence);
    add_line(is_first ? finding.subject : "", offence->outcome, much, what, table);
}

static void add_machine(const struct fleet_judgement *judgement, const struct fleet_judged *machine,
                        struct doc_table *table)
{
    if (!machine->noffences)
        add_line(intern_text(&judgement->fleet->names, machine->machine), machine->outcome, "",
                 FLEET_NOT_JUDGED, table);
    for (size_t i = 0; i < machine->noffences && i < FLEET_OFFENCES; i++)
        add_offence(judgement, &judgement->offences[machine->first + i], !i, table);
    if (machine->noffences > FLEET_OFFENCES) {
        doc_row(table, DOC_GROUP);
        doc_cell(table, "and %zu more", machine->noffences - FLEET_OFFENCES);
    }
}

static void add_verdict(const struct fleet_judgement *judgement, struct doc *doc)
{
    const size_t *count = judgement->count;
    char skipped[80] = "";
    struct finding whole = {.severity = count[OUTCOME_FAIL]   ? FINDING_BAD
                                        : count[OUTCOME_SKIP] ? FINDING_DOUBT
                                                              : FINDING_NOTE};
    if (count[OUTCOME_SKIP])
        (void)snprintf(skipped, sizeof(skipped), ", %zu not judged", count[OUTCOME_SKIP]);
    (void)snprintf(whole.sentence, sizeof(whole.sentence),
                   "%s: %zu of %zu machines fail, %zu are odd, %zu pass%s",
                   finding_outcome_name(count[OUTCOME_FAIL]   ? OUTCOME_FAIL
                                        : count[OUTCOME_SKIP] ? OUTCOME_SKIP
                                                              : OUTCOME_PASS),
                   count[OUTCOME_FAIL], judgement->nmachines, count[OUTCOME_WARN],
                   count[OUTCOME_PASS], skipped);
    if (count[OUTCOME_FAIL]) { /* the rules name what is wrong with the worst of them */
        const char *name = intern_text(&judgement->fleet->names, judgement->machines[0].machine);
        char word[256];
        (void)text_shell_word(name, word, sizeof(word));
        (void)snprintf(whole.command, sizeof(whole.command), "ssh %s sudo contend validate", word);
    }
    doc_verdict(doc, &whole);
}

void fleet_add_to_doc(const struct fleet_judgement *judgement, struct doc *doc)
{
    const struct bounds *bounds = judgement->bounds;
    size_t nodd = judgement->nmachines - judgement->count[OUTCOME_PASS];
    struct doc_table *table;
    add_verdict(judgement, doc);
    doc_text(doc, "%zu results of machines of %s; %zu figures with bounds: %s, of %u machines",
             judgement->fleet->nruns, bounds->kind && *bounds->kind ? bounds->kind : "any kind",
             bounds->n, bounds->how, bounds->machines);
    if (!nodd)
        return;
    doc_gap(doc);
    table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "machine", "result", "by how much", NULL);
    doc_column(table, DOC_SENTENCE, "what is off");
    for (size_t i = 0; i < nodd && i < FLEET_LINES; i++)
        add_machine(judgement, &judgement->machines[i], table);
    if (nodd > FLEET_LINES)
        doc_text(doc, "and %zu more machines; --json has all", nodd - FLEET_LINES);
}
