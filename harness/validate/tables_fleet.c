#include "harness/validate/tables_fleet.h"

#include <limits.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"

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
    const char *much = fleet_finding(judgement, offence, &finding);
    const char *what =
        str_fmt("%.*s%s%s", (int)(much - finding.sentence) - (*much ? (int)strlen(": ") : 0),
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
    bool fails = count[OUTCOME_FAIL], skips = count[OUTCOME_SKIP];
    char name[256];
    const char *command = "";
    const char *skipped = skips ? str_fmt(", %zu not judged", count[OUTCOME_SKIP]) : "";
    if (fails) { /* the rules on the worst machine name the fault */
        (void)text_shell_word(intern_text(&judgement->fleet->names, judgement->machines[0].machine),
                              name, sizeof(name));
        command = str_fmt("ssh %s sudo contend validate", name);
    }
    doc_verdict(doc,
                fails   ? FINDING_BAD
                : skips ? FINDING_DOUBT
                        : FINDING_NOTE,
                command, "%s: %zu of %zu machines fail, %zu are odd, %zu pass%s",
                finding_outcome_name(fails   ? OUTCOME_FAIL
                                     : skips ? OUTCOME_SKIP
                                             : OUTCOME_PASS),
                count[OUTCOME_FAIL], judgement->nmachines, count[OUTCOME_WARN], count[OUTCOME_PASS],
                skipped);
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

void bounds_add_to_doc(const struct bounds *bounds, size_t machines, const char *path,
                       struct doc *doc)
{
    struct doc_table *table = NULL;
    char word[PATH_MAX];
    (void)text_shell_word(path, word, sizeof(word));
    const char *command = str_fmt("contend validate fleet DIR --bounds %s", word);
    doc_verdict(doc, FINDING_NOTE, command, "%zu figures have bounds, by %u of %zu machines",
                bounds->n, bounds->machines, machines);
    doc_text(doc, "machines of %s; %s", bounds->kind, bounds->how);
    for (size_t i = 0; i < bounds->nleft_out; i++) {
        if (!table) {
            doc_gap(doc);
            table = doc_table(doc);
            doc_column(table, DOC_LABEL, "left out");
            doc_column(table, DOC_SENTENCE, "why");
        }
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", bounds->left_out[i].machine);
        doc_cell(table, "%s", bounds->left_out[i].reason);
    }
}
