#include "harness/show/doc.h"
#include "harness/show/escape.h"

static void print_element(const char *open, const char *text, const char *close, FILE *out)
{
    (void)fputs(open, out);
    escape_markup(text ? text : "-", out);
    (void)fputs(close, out);
}

/* A cell and the name above it have the same class. */
static const char *class_of(enum doc_kind kind)
{
    return kind >= DOC_SENTENCE ? " class=\"text\"" : kind <= DOC_CODE ? " class=\"label\"" : "";
}

/* Unlike on a terminal, the lines of a name follow each other in one line. */
static void print_head(const struct doc_table *table, FILE *out)
{
    (void)fputs("<tr>", out);
    for (size_t i = 0; i < table->ncolumns; i++) {
        (void)fprintf(out, "<th scope=\"col\"%s>", class_of(table->column[i].kind));
        escape_markup(table->column[i].name ? table->column[i].name : "", out);
        (void)fputs("</th>", out);
    }
    (void)fputs("</tr>\n", out);
}

/* On a narrow screen the table's head is hidden, so each number carries the name of its column. */
static void print_name(const struct doc_column *column, FILE *out)
{
    if (doc_is_number(column->kind))
        print_element(" data-name=\"", column->name ? column->name : "", "\"", out);
}

static void print_cell(const struct doc_table *table, const struct doc_row *row, size_t column,
                       bool stacks, FILE *out)
{
    static const char *const tones[DOC_TONES] = {"", "<span class=\"good\">",
                                                 "<span class=\"bad\">", ""};
    const char *tone = tones[row->cell_tone[column]];
    enum doc_kind kind = table->column[column].kind;
    (void)fputs(column == 0 ? "<th scope=\"row\"" : "<td", out);
    (void)fputs(column == 0 ? "" : class_of(kind), out);
    if (stacks)
        print_name(&table->column[column], out);
    (void)fputc('>', out);
    if (row->cell[column] && kind == DOC_COMMAND)
        print_element("<code>", row->cell[column], "</code>", out);
    else
        print_element(tone, kind >= DOC_SENTENCE && !row->cell[column] ? "" : row->cell[column],
                      tone[0] ? "</span>" : "", out);
    (void)fputs(column == 0 ? "</th>" : "</td>", out);
}

static void print_row(const struct doc_table *table, const struct doc_row *row, bool stacks,
                      FILE *out)
{
    (void)fputs(row->tone == DOC_GOOD ? "<tr class=\"recommended\">" : "<tr>", out);
    if (row->tone == DOC_GROUP) {
        (void)fprintf(out, "<th scope=\"rowgroup\" colspan=\"%zu\">", table->ncolumns);
        print_element("", row->cell[0], "</th>", out);
    }
    for (size_t i = 0; i < table->ncolumns && row->tone != DOC_GROUP; i++)
        print_cell(table, row, i, stacks, out);
    (void)fputs("</tr>\n", out);
}

static void print_table(const struct doc_table *table, FILE *out)
{
    bool named = table->ncolumns && table->column[0].name && table->column[0].name[0];
    bool stacks = false; /* on a narrow screen, a sentence gets a line of its own */
    for (size_t i = 0; i < table->ncolumns; i++)
        stacks = stacks || table->column[i].kind >= DOC_SENTENCE;
    (void)fprintf(out, "<div class=\"scroll\"><table%s>\n", stacks ? " class=\"stack\"" : "");
    if (named)
        print_head(table, out);
    for (size_t i = 0; i < table->n; i++)
        print_row(table, &table->row[i], stacks, out);
    (void)fputs("</table></div>\n", out);
}

static void print_text(const struct finding *finding, FILE *out)
{
    print_element("", finding->sentence, "", out);
    if (finding->evidence[0])
        print_element(" <small>(", finding->evidence, ")</small>", out);
}

static void print_command(const struct finding *finding, FILE *out)
{
    if (finding->command[0])
        print_element("<pre>", finding->command, "</pre>\n", out);
}

static void print_sentence(const struct finding *finding, FILE *out)
{
    (void)fputs("<p>", out);
    print_text(finding, out);
    (void)fputs("</p>\n", out);
    print_command(finding, out);
}

static void print_finding(const struct finding *finding, FILE *out)
{
    static const char *const classes[FINDING_SEVERITIES] = {"note", "doubt", "bad"};
    const char *outcome = finding_outcome_name(finding->outcome);
    const char *class = classes[finding->severity];
    (void)fprintf(out, "<li class=\"%s\"><b>%s</b> ", class, outcome[0] ? outcome : class);
    if (finding->subject[0])
        print_element("", finding->subject, ": ", out);
    print_text(finding, out);
    print_command(finding, out);
    (void)fputs("</li>\n", out);
}

/*
 * Leading findings are in a box, the rest is a list, worst first. The first is the verdict and
 * colours the box, unless another one is an error: a warning below a gain does not take it back.
 */
static void print_findings(const struct doc_block *block, FILE *out)
{
    static const char *const classes[FINDING_SEVERITIES] = {"", " doubt", " bad"};
    const struct findings *findings = block->findings;
    bool leading = block->which == DOC_LEADING;
    enum finding_severity tone = FINDING_NOTE;
    bool is_first = true;
    for (size_t i = 0; i < findings->n; i++) {
        if (!doc_leads(findings, i))
            continue;
        if (is_first || findings->all[i].severity == FINDING_BAD)
            tone = findings->all[i].severity;
        is_first = false;
    }
    if (leading)
        (void)fprintf(out, "<div class=\"verdict%s\">\n", classes[tone]);
    else
        (void)fputs("<ul class=\"findings\">\n", out);
    for (size_t i = 0; i < findings->n && leading; i++)
        if (doc_leads(findings, i))
            print_sentence(&findings->all[i], out);
    for (int severity = FINDING_BAD; severity >= FINDING_NOTE && !leading; severity--)
        for (size_t i = 0; i < findings->n; i++)
            if ((int)findings->all[i].severity == severity && !doc_leads(findings, i))
                print_finding(&findings->all[i], out);
    (void)fputs(leading ? "</div>\n" : "</ul>\n", out);
}

void doc_print_html(const struct doc *doc, FILE *out)
{
    for (size_t i = 0; i < doc->n; i++) {
        const struct doc_block *block = &doc->block[i];
        const char *text = block->text ? block->text : "";
        if (block->kind == DOC_HEADING)
            print_element("<h4>", text, "</h4>\n", out);
        else if (block->kind == DOC_TEXT || block->kind == DOC_NOTE)
            print_element("<p>", text, "</p>\n", out);
        else if (block->kind == DOC_TABLE)
            print_table(block->table, out);
        else if (block->kind == DOC_FINDINGS)
            print_findings(block, out);
        else if (block->kind == DOC_FOLD || block->kind == DOC_OPEN)
            print_element(block->kind == DOC_FOLD ? "<details><summary>"
                                                  : "<details open><summary>",
                          text, "</summary>\n", out);
        else if (block->kind == DOC_UNFOLD)
            (void)fputs("</details>\n", out);
    }
}
