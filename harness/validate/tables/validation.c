#include "harness/validate/tables/validation.h"

#include <string.h>

#include "harness/lib/base/text.h"

enum { INDENT = 7, LINE = 2048 };

static const char *colour_of(enum finding_outcome outcome)
{
    return outcome == OUTCOME_FAIL || outcome == OUTCOME_ERROR ? "\033[31m"
           : outcome == OUTCOME_WARN                           ? "\033[33m"
           : outcome == OUTCOME_PASS                           ? "\033[32m"
                                                               : "";
}

static int print_mark(enum finding_outcome outcome, FILE *out, bool color)
{
    (void)fprintf(out, "%s%-5s%s  ", color ? colour_of(outcome) : "", finding_outcome_name(outcome),
                  color ? "\033[0m" : "");
    return INDENT;
}

static bool is_wrong(const struct finding *finding)
{
    return finding->outcome == OUTCOME_FAIL || finding->outcome == OUTCOME_WARN;
}

/* "FAIL   GPU 2 (0000:3b:00.0): PCIe width is x8 of x16 (pcie_width; hardware: replace)" */
static void print_one(const struct finding *finding, FILE *out, bool color)
{
    char line[LINE], what[96] = "";
    if (is_wrong(finding))
        (void)snprintf(what, sizeof(what), "; %s: %s", finding->cause,
                       rule_action_name(rule_find(finding->id)->action));
    (void)snprintf(line, sizeof(line), "%s%s%s (%s%s)", finding->subject,
                   finding->subject[0] ? ": " : "", finding->sentence, finding->id, what);
    text_wrap(line, print_mark(finding->outcome, out, color), INDENT, out);
    if (finding->evidence[0]) {
        (void)fprintf(out, "%*s", INDENT, "");
        text_wrap(finding->evidence, INDENT, INDENT, out);
    }
    if (finding->command[0] && is_wrong(finding)) /* not wrapped: it is to be copied */
        (void)fprintf(out, "%*s%s\n", INDENT, "$ ", finding->command);
}

/* The names of those that are told together: *first is one of them, and the others are behind it.
 */
static void print_group(const struct findings *findings, size_t first,
                        bool (*together)(const struct finding *a, const struct finding *b),
                        const char *title, FILE *out, bool color)
{
    const struct finding *head = &findings->all[first];
    char line[LINE];
    (void)snprintf(line, sizeof(line), "%s", title);
    for (size_t i = first; i < findings->n; i++)
        if (together(head, &findings->all[i]))
            text_append(line, sizeof(line), i == first ? ": " : ", ", "%s", findings->all[i].id);
    text_wrap(line, print_mark(head->outcome, out, color), INDENT, out);
}

static bool same_reason(const struct finding *a, const struct finding *b)
{
    return b->outcome == OUTCOME_SKIP && strcmp(a->sentence, b->sentence) == 0;
}

static enum rule_kind kind_of(const struct finding *finding)
{
    return rule_find(finding->id)->kind;
}

static bool same_kind(const struct finding *a, const struct finding *b)
{
    return b->outcome == OUTCOME_PASS && kind_of(a) == kind_of(b);
}

static void print_groups(const struct findings *findings, enum finding_outcome outcome, FILE *out,
                         bool color)
{
    bool (*together)(const struct finding *, const struct finding *) =
        outcome == OUTCOME_SKIP ? same_reason : same_kind;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        bool told = finding->outcome != outcome;
        for (size_t j = 0; j < i && !told; j++)
            told = findings->all[j].outcome == outcome && together(&findings->all[j], finding);
        if (!told)
            print_group(findings, i, together,
                        outcome == OUTCOME_SKIP ? finding->sentence
                                                : rule_kind_name(kind_of(finding)),
                        out, color);
    }
}

void validation_print(const struct findings *findings, const struct rules_verdict *verdict,
                      bool all, FILE *out, bool color)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        bool grouped = finding->outcome == OUTCOME_SKIP || finding->outcome == OUTCOME_PASS;
        if (all || !grouped)
            print_one(finding, out, color);
    }
    if (!all) {
        print_groups(findings, OUTCOME_SKIP, out, color);
        print_groups(findings, OUTCOME_PASS, out, color);
    }
    (void)fprintf(out, "\n%s", color ? colour_of(verdict->outcome) : "");
    text_wrap(verdict->text, 0, 2, out);
    (void)fputs(color ? "\033[0m" : "", out);
}

void validation_print_rules(FILE *out)
{
    char line[LINE];
    const struct rule *rule;
    for (size_t i = 0; (rule = rule_at(i)); i++) {
        (void)fprintf(out, "%s%s (%s; %s: %s)\n  ", i ? "\n" : "", rule->id,
                      rule_kind_name(rule->kind), rule->cause, rule_action_name(rule->action));
        text_wrap(rule->about, 2, 2, out);
        (void)snprintf(line, sizeof(line), "needs: %s; source: %s", rule->needs, rule->source);
        (void)fputs("  ", out);
        text_wrap(line, 2, 2, out);
        if (rule->command)
            (void)fprintf(out, "  $ %s\n", rule->command);
    }
}

void validation_print_rules_markdown(FILE *out)
{
    const struct rule *rule;
    (void)fputs("| rule | kind | what passes | class: action | needs | source |\n"
                "|---|---|---|---|---|---|\n",
                out);
    for (size_t i = 0; (rule = rule_at(i)); i++)
        (void)fprintf(out, "| `%s` | %s | %s | %s: %s | %s | %s |\n", rule->id,
                      rule_kind_name(rule->kind), rule->about, rule->cause,
                      rule_action_name(rule->action), rule->needs, rule->source);
}
