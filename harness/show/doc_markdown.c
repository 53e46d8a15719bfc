#include <string.h>

#include "harness/show/doc.h"
#include "harness/show/escape.h"

enum { TABLE_ROWS = 40 };

static void print_cell(const struct doc_table *table, const struct doc_row *row, size_t column,
                       FILE *out)
{
    enum doc_kind kind = table->column[column].kind;
    const char *text = row->cell[column] ? row->cell[column] : kind >= DOC_SENTENCE ? "" : "-";
    const char *mark = row->cell_tone[column] != DOC_PLAIN ? "**" : "";
    (void)fprintf(out, " %s", mark);
    if (kind == DOC_CODE || kind == DOC_COMMAND)
        escape_markdown_code(text, out);
    else
        escape_markdown(text, out);
    (void)fprintf(out, "%s |", mark);
}

static void print_head(const struct doc_table *table, FILE *out)
{
    (void)fputs("\n|", out);
    for (size_t i = 0; i < table->ncolumns; i++) {
        (void)fputc(' ', out);
        escape_markdown(table->column[i].name ? table->column[i].name : "", out);
        (void)fputs(" |", out);
    }
    (void)fputs("\n|", out);
    for (size_t i = 0; i < table->ncolumns; i++)
        (void)fputs(doc_is_number(table->column[i].kind) ? "---:|" : "---|", out);
    (void)fputc('\n', out);
}

static void print_row(const struct doc_table *table, const struct doc_row *row, FILE *out)
{
    bool group = row->tone == DOC_GROUP;
    (void)fputs(group ? "| *" : "|", out);
    if (group)
        escape_markdown(row->cell[0] ? row->cell[0] : "", out);
    (void)fputs(group ? "* |" : "", out);
    for (size_t i = group; i < table->ncolumns; i++)
        if (group)
            (void)fputs(" |", out);
        else
            print_cell(table, row, i, out);
    (void)fputc('\n', out);
}

static void print_table(const struct doc_table *table, FILE *out)
{
    size_t rows = 0;
    print_head(table, out);
    for (size_t i = 0; i < table->n; i++) {
        rows += table->row[i].tone != DOC_GROUP;
        if (rows <= TABLE_ROWS)
            print_row(table, &table->row[i], out);
    }
    if (rows > TABLE_ROWS)
        (void)fprintf(out, "\n%zu more are left out.\n", rows - TABLE_ROWS);
}

static void print_command(const char *command, FILE *out)
{
    /* Indented, because a fence could end inside the command. */
    (void)fputs("\n  To apply it:\n\n      ", out);
    escape_line(command, out);
    (void)fputs("\n\n", out);
}

static void print_finding(const struct finding *finding, FILE *out)
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
        print_command(finding->command, out);
}

static void print_sentence(const struct finding *finding, FILE *out)
{
    const char *outcome = finding_outcome_name(finding->outcome);
    (void)fputc('\n', out);
    if (outcome[0])
        (void)fprintf(out, "**%s**: ", outcome);
    escape_markdown(finding->sentence, out);
    (void)fputc('\n', out);
    if (finding->command[0])
        print_command(finding->command, out);
}

/* Findings about the whole as sentences, about subjects as a folded list. */
static void print_findings(const struct doc_block *block, FILE *out)
{
    const struct findings *findings = block->findings;
    bool any = false;
    for (size_t i = 0; i < findings->n; i++)
        if (!findings->all[i].subject[0] && doc_leads(findings, i) == (block->which == DOC_LEADING))
            print_sentence(&findings->all[i], out);
    for (size_t i = 0; i < findings->n && block->which == DOC_REST; i++) {
        if (!findings->all[i].subject[0])
            continue;
        (void)fputs(any ? "" : "\n<details><summary>Findings</summary>\n\n", out);
        any = true;
        print_finding(&findings->all[i], out);
    }
    (void)fputs(any ? "\n</details>\n" : "", out);
}

void doc_print_markdown(const struct doc *doc, FILE *out)
{
    for (size_t i = 0; i < doc->n; i++) {
        const struct doc_block *block = &doc->block[i];
        const char *text = block->text ? block->text : "";
        if (block->kind == DOC_HEADING || block->kind == DOC_TEXT || block->kind == DOC_NOTE) {
            (void)fputs(block->kind == DOC_HEADING ? "\n**" : "\n", out);
            escape_markdown(text, out);
            (void)fputs(block->kind == DOC_HEADING ? "**\n" : "\n", out);
        } else if (block->kind == DOC_TABLE)
            print_table(block->table, out);
        else if (block->kind == DOC_FINDINGS)
            print_findings(block, out);
        else if (block->kind == DOC_FOLD || block->kind == DOC_OPEN)
            (void)fprintf(out, "\n<details><summary>%s</summary>\n", text);
        else if (block->kind == DOC_UNFOLD)
            (void)fputs("\n</details>\n", out);
    }
}
