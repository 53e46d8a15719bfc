#include "harness/validate/tables.h"

#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"

static bool is_wrong(const struct finding *finding)
{
    return finding->outcome == OUTCOME_FAIL || finding->outcome == OUTCOME_WARN ||
           finding->outcome == OUTCOME_ERROR;
}

static bool is_open(const struct finding *finding)
{
    return finding->outcome == OUTCOME_SKIP && finding->severity == FINDING_DOUBT;
}

/* Findings are sorted, so the first command is that of the worst. */
static void add_verdict(const struct validation *validation, struct doc *doc)
{
    const struct rules_verdict *verdict = validation->verdict;
    const struct findings *findings = validation->findings;
    size_t i = 0;
    while (i < findings->n && !findings->all[i].command[0])
        i++;
    doc_verdict(doc,
                verdict->outcome == OUTCOME_SKIP   ? FINDING_DOUBT
                : verdict->outcome == OUTCOME_PASS ? FINDING_NOTE
                                                   : FINDING_BAD,
                i < findings->n ? findings->all[i].command : NULL, "%s", verdict->text);
}

static void add_one(const struct finding *finding, bool wrong, struct doc_table *table)
{
    enum finding_outcome outcome = finding->outcome;
    bool bad = outcome == OUTCOME_FAIL || outcome == OUTCOME_ERROR;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", finding_outcome_name(outcome));
    doc_tone(table, bad ? DOC_BAD : outcome == OUTCOME_PASS ? DOC_GOOD : DOC_PLAIN);
    doc_cell(table, "%s", finding->id);
    if (wrong) {
        doc_cell(table, "%s", finding->subject[0] ? finding->subject : "-");
        doc_cell(table, "%s", finding->cause[0] ? finding->cause : "-");
        doc_cell(table, "%s",
                 finding->cause[0] ? rule_action_name(rule_find(finding->id)->action) : "-");
    }
    doc_cell(table, "%s%s%s%s", finding->sentence, finding->evidence[0] ? " (" : "",
             finding->evidence, finding->evidence[0] ? ")" : "");
    if (finding->command[0])
        doc_cell(table, "%s", finding->command);
}

/* Adds a table of the findings that are wrong, or of the others. */
static void add_rules(const struct findings *findings, bool wrong, struct doc *doc)
{
    struct doc_table *table = NULL;
    for (size_t i = 0; i < findings->n; i++) {
        if (is_wrong(&findings->all[i]) != wrong)
            continue;
        if (!table) {
            table = doc_table(doc);
            doc_column(table, DOC_LABEL, "result");
            doc_column(table, DOC_CODE, "rule");
            if (wrong)
                doc_columns(table, DOC_LABEL, "unit", "class", "action", NULL);
            doc_column(table, DOC_SENTENCE, "why");
            doc_column(table, DOC_COMMAND, "command");
        }
        add_one(&findings->all[i], wrong, table);
    }
}

/* Adds rules that apply here but could not be judged; those with the same reason share a line. */
static void add_open(const struct findings *findings, struct doc *doc)
{
    bool any = false;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        const char *rules = "";
        bool again = false;
        if (!is_open(finding))
            continue;
        for (size_t j = 0; j < findings->n; j++) {
            const struct finding *other = &findings->all[j];
            if (!is_open(other) || strcmp(other->sentence, finding->sentence) != 0)
                continue;
            again = again || j < i;
            str_add(&rules, ", ", "%s", other->id);
        }
        if (again)
            continue;
        if (!any)
            doc_heading(doc, "Not judged");
        any = true;
        doc_text(doc, "%s: %s", rules, finding->sentence);
    }
    if (any)
        doc_gap(doc);
}

void validation_add_to_doc(const struct validation *validation, struct doc *doc)
{
    bool measured = strcmp(validation->profile, "none") != 0;
    char burn[500];
    add_verdict(validation, doc);
    doc_text(doc, "%s, judged in %.0f s, %s%s", validation->facts->host, validation->took_s,
             measured ? "profile " : "nothing measured", measured ? validation->profile : "");
    if (burn_format(validation->facts, burn, sizeof(burn)))
        doc_text(doc, "%s", burn);
    doc_gap(doc);
    certificate_add_machine(validation, doc);
    add_rules(validation->findings, true, doc);
    certificate_add_numbers(validation->numbers, doc);
    certificate_add_measured(validation->facts, doc);
    add_open(validation->findings, doc);
    doc_fold(doc, "Rules that passed or were skipped");
    add_rules(validation->findings, false, doc);
    doc_unfold(doc);
}

void validation_add_rules_to_doc(struct doc *doc)
{
    const struct rule *rule;
    struct doc_table *table = NULL;
    enum rule_kind kind = RULE_KINDS;
    for (size_t i = 0; (rule = rule_at(i)); i++) {
        if (!table || rule->kind != kind) {
            kind = rule->kind;
            table = doc_table(doc);
            doc_column(table, DOC_CODE, "rule");
            doc_columns(table, DOC_LABEL, "kind", "class", "action", NULL);
            doc_columns(table, DOC_SENTENCE, "what passes", "needs", "source", NULL);
            doc_column(table, DOC_COMMAND, "command");
            doc_gap(doc);
        }
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", rule->id);
        doc_cell(table, "%s", rule_kind_name(kind));
        doc_cell(table, "%s", rule->cause);
        doc_cell(table, "%s", rule_action_name(rule->action));
        doc_cell(table, "%s", rule->about);
        doc_cell(table, "needs: %s", rule->needs);
        doc_cell(table, "source: %s", rule->source);
        if (rule->command)
            doc_cell(table, "%s", rule->command);
    }
}
