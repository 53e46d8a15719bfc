#include "harness/show/report/markdown.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/show/report/escape.h"

enum { TABLE_ROWS = 40 };

void markdown_print_command(const char *command, FILE *out)
{
    /* Indented: a fence could end inside the command. */
    (void)fputs("\n  To apply it:\n\n      ", out);
    escape_line(command, out);
    (void)fputs("\n\n", out);
}

void markdown_print_finding(const struct finding *finding, FILE *out)
{
    static const char *const marks[FINDING_SEVERITIES] = {"", "Doubt: ", "**Bad:** "};
    const char *outcome = finding_outcome_name(finding->outcome);
    (void)fputs("- ", out);
    if (outcome[0])
        (void)fprintf(out, "**%s** ", outcome);
    else
        (void)fputs(marks[finding->severity], out);
    if (finding->subject[0]) {
        escape_markdown(finding->subject, out);
        (void)fputs(": ", out);
    }
    escape_markdown(finding->sentence, out);
    if (finding->evidence[0] && !strstr(finding->sentence, finding->evidence)) {
        (void)fputs(" (", out);
        escape_markdown(finding->evidence, out);
        (void)fputc(')', out);
    }
    (void)fputc('\n', out);
    if (finding->command[0])
        markdown_print_command(finding->command, out);
}

void markdown_print_findings(const struct findings *findings, FILE *out)
{
    for (int subjects = 0; subjects < 2; subjects++)
        for (size_t i = 0; i < findings->n; i++)
            if ((findings->all[i].subject[0] != '\0') == subjects)
                markdown_print_finding(&findings->all[i], out);
}

static size_t count(const struct comparisons *comparisons, bool gates, enum finding_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < comparisons->n; i++)
        n += comparisons->all[i].gates == gates && comparisons->all[i].outcome == outcome;
    return n;
}

/* In the order in which they are told. */
static const enum finding_outcome order[] = {OUTCOME_SLOWER, OUTCOME_UNCLEAR, OUTCOME_MISSING,
                                             OUTCOME_FASTER, OUTCOME_SAME};
enum { ORDER = sizeof(order) / sizeof(order[0]) };

static size_t count_all(const struct comparisons *comparisons, bool gates)
{
    size_t n = 0;
    for (int i = 0; i < ORDER; i++)
        n += count(comparisons, gates, order[i]);
    return n;
}

static const struct finding *verdict_of(const struct findings *findings)
{
    for (size_t i = 0; findings && i < findings->n; i++)
        if (!findings->all[i].subject[0] && findings->all[i].outcome != OUTCOME_NONE)
            return &findings->all[i];
    return NULL;
}

static void print_counts(const struct comparisons *comparisons, FILE *out)
{
    bool any = false;
    for (int i = 0; i < ORDER; i++) {
        size_t n = count(comparisons, true, order[i]);
        if (!n)
            continue;
        (void)fprintf(out, "%s%zu %s", any ? ", " : "Of the metrics that gate: ", n,
                      finding_outcome_name(order[i]));
        any = true;
    }
    (void)fputs(any ? ".\n" : "No metric that gates could be compared.\n", out);
}

static void print_verdict(const struct comparisons *comparisons, const struct finding *verdict,
                          FILE *out)
{
    if (verdict) {
        (void)fprintf(out, "**%s**: ", finding_outcome_name(verdict->outcome));
        escape_markdown(verdict->sentence, out);
        (void)fputc('\n', out);
        return;
    }
    for (int i = 0; i < ORDER; i++)
        if (count(comparisons, true, order[i])) {
            (void)fprintf(out, "**%s**: ", finding_outcome_name(order[i]));
            break;
        }
    print_counts(comparisons, out);
}

static void print_number(double value, const char *unit, FILE *out)
{
    if (isnan(value)) {
        (void)fputs(" - |", out);
        return;
    }
    (void)fprintf(out, " %.4g ", value);
    escape_markdown(unit, out);
    (void)fputs(" |", out);
}

/* "-5.2% (-7.1% to -3.3%)" */
static void print_change(const struct comparison *comparison, FILE *out)
{
    char change[32], interval[32];
    (void)fprintf(out, " %s", comparison_format_change(comparison, change, sizeof(change)));
    if (strcmp(comparison_format_interval(comparison, interval, sizeof(interval)), "-") != 0)
        (void)fprintf(out, " (%s)", interval);
    (void)fputs(" |", out);
}

static void print_row(const struct comparisons *comparisons, const struct comparison *comparison,
                      FILE *out)
{
    char where[sizeof(comparison->other) + sizeof(comparison->arm) + 2];
    (void)fprintf(out, "| **%s** | ", finding_outcome_name(comparison->outcome));
    escape_markdown_code(comparison->metric, out);
    (void)fputs(" | ", out);
    escape_markdown(comparison_say_where(comparisons, comparison, where, sizeof(where)), out);
    (void)fputs(" |", out);
    print_number(comparison->base_median, comparison->unit, out);
    print_number(comparison->other_median, comparison->unit, out);
    print_change(comparison, out);
    (void)fputc(' ', out);
    escape_markdown(comparison->reason, out);
    (void)fputs(" |\n", out);
}

/* What one side alone has is told where a build may fail on it. */
static bool is_told(const struct comparison *comparison, bool gates, enum finding_outcome outcome)
{
    return comparison->gates == gates && comparison->outcome == outcome &&
           (gates || outcome != OUTCOME_MISSING);
}

/* Those that gate, or those that do not; nothing where there is none. */
static void print_table(const struct comparisons *comparisons, bool gates, FILE *out)
{
    size_t told = 0, missing = gates ? 0 : count(comparisons, false, OUTCOME_MISSING);
    size_t all = count_all(comparisons, gates) - missing;
    if (all) {
        (void)fputs("\n| verdict | metric | where | ", out);
        escape_markdown(comparisons->all[0].base, out);
        (void)fputs(" | ", out);
        escape_markdown(comparisons_of_two(comparisons) ? comparisons->all[0].other : "other", out);
        (void)fputs(" | change | why |\n|---|---|---|---:|---:|---:|---|\n", out);
    }
    for (int o = 0; o < ORDER; o++)
        for (size_t i = 0; i < comparisons->n && told < TABLE_ROWS; i++)
            if (is_told(&comparisons->all[i], gates, order[o])) {
                print_row(comparisons, &comparisons->all[i], out);
                told++;
            }
    if (told < all)
        (void)fprintf(out, "\n%zu more are left out.\n", all - told);
}

static void fold(const char *title, FILE *out)
{
    (void)fprintf(out, "\n<details><summary>%s</summary>\n", title);
}

static void unfold(FILE *out)
{
    (void)fputs("\n</details>\n", out);
}

/* Those that are neither the verdict nor a comparison that a table has already. */
static bool is_in_a_table(const struct finding *finding, const struct finding *verdict)
{
    return finding == verdict || strncmp(finding->id, "change_", strlen("change_")) == 0;
}

static void print_rest(const struct findings *findings, const struct finding *verdict, FILE *out)
{
    bool any = false;
    for (size_t i = 0; findings && i < findings->n; i++) {
        if (is_in_a_table(&findings->all[i], verdict))
            continue;
        if (!any) {
            fold("What is to be known of it", out);
            (void)fputc('\n', out);
        }
        any = true;
        markdown_print_finding(&findings->all[i], out);
    }
    if (any)
        unfold(out);
}

void markdown_print_comparisons(const struct comparisons *comparisons,
                                const struct findings *findings, FILE *out)
{
    const struct finding *verdict = verdict_of(findings);
    print_verdict(comparisons, verdict, out);
    print_table(comparisons, true, out);
    if (count_all(comparisons, false) > count(comparisons, false, OUTCOME_MISSING)) {
        fold("Metrics that do not gate", out);
        print_table(comparisons, false, out);
        unfold(out);
    }
    print_rest(findings, verdict, out);
}
