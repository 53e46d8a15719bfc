#include "harness/show/doc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"

/* Returns NULL and sets `failed` if out of memory. */
static char *format(struct doc *doc, const char *fmt, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, args) >= 0)
        return text;
    doc->failed = true;
    return NULL;
}

/* Text from a machine or a log must not control the terminal. */
static void one_line(char *text)
{
    if (text)
        (void)text_one_line(text);
}

static struct doc_block *add(struct doc *doc, enum doc_block_kind kind)
{
    struct doc_block *block = array_add(doc->block, doc->n, doc->capacity);
    doc->failed = doc->failed || !block;
    if (block)
        *block = (struct doc_block){.kind = kind};
    return block;
}

void doc_add(struct doc *doc, enum doc_block_kind kind, const char *fmt, ...)
{
    va_list args;
    struct doc_block *block = add(doc, kind);
    va_start(args, fmt);
    if (block)
        one_line(block->text = format(doc, fmt, args));
    va_end(args);
}

/* True for a doubt about the whole result: it comes before the tables. */
static bool is_first(const struct finding *finding)
{
    return !finding->subject[0] && finding->severity == FINDING_DOUBT;
}

bool doc_leads(const struct findings *findings, size_t i)
{
    const struct finding *finding = &findings->all[i];
    if (finding->subject[0] || is_first(finding) || finding->command[0])
        return !finding->subject[0];
    while (i-- > 0)
        if (!findings->all[i].subject[0] && !is_first(&findings->all[i]))
            return false;
    return true;
}

void doc_findings(struct doc *doc, const struct findings *findings, enum doc_which which)
{
    size_t i = 0;
    while (i < findings->n && doc_leads(findings, i) != (which == DOC_LEADING))
        i++;
    struct doc_block *block = i < findings->n ? add(doc, DOC_FINDINGS) : NULL;
    if (block) {
        block->findings = findings;
        block->which = which;
        doc->failed = doc->failed || findings->failed;
    }
}

void doc_verdict(struct doc *doc, enum finding_severity severity, const char *command,
                 const char *fmt, ...)
{
    va_list args;
    struct finding whole = {.severity = severity};
    struct findings *own = calloc(1, sizeof(*own));
    struct doc_block *block = own ? add(doc, DOC_FINDINGS) : NULL;
    (void)snprintf(whole.command, sizeof(whole.command), "%s", command ? command : "");
    va_start(args, fmt);
    (void)vsnprintf(whole.sentence, sizeof(whole.sentence), fmt, args);
    va_end(args);
    doc->failed = doc->failed || !block;
    if (block) {
        findings_put(own, &whole);
        block->findings = block->own = own;
    } else
        free(own);
}

struct doc_table *doc_table(struct doc *doc)
{
    struct doc_block *block = add(doc, DOC_TABLE);
    if (!block)
        return NULL;
    block->table = calloc(1, sizeof(*block->table));
    if (block->table)
        block->table->doc = doc;
    doc->failed = doc->failed || !block->table;
    return block->table;
}

void doc_column(struct doc_table *table, enum doc_kind kind, const char *fmt, ...)
{
    va_list args;
    if (!table || table->ncolumns == DOC_COLUMNS)
        return;
    va_start(args, fmt);
    table->column[table->ncolumns++] = (struct doc_column){kind, format(table->doc, fmt, args)};
    va_end(args);
}

void doc_columns(struct doc_table *table, enum doc_kind kind, ...)
{
    va_list names;
    va_start(names, kind);
    for (const char *name; (name = va_arg(names, const char *));)
        doc_column(table, kind, "%s", name);
    va_end(names);
}

void doc_row(struct doc_table *table, enum doc_tone tone)
{
    struct doc_row *row = table ? array_add(table->row, table->n, table->capacity) : NULL;
    if (row) {
        *row = (struct doc_row){.tone = tone};
        table->at = 0;
    } else if (table)
        table->doc->failed = true;
}

static struct doc_row *last(const struct doc_table *table)
{
    return table && table->n ? &table->row[table->n - 1] : NULL;
}

void doc_cell(struct doc_table *table, const char *fmt, ...)
{
    va_list args;
    struct doc_row *row = last(table);
    if (!row || table->at == DOC_COLUMNS)
        return;
    va_start(args, fmt);
    row->cell[table->at] = format(table->doc, fmt, args);
    va_end(args);
    one_line(row->cell[table->at++]);
}

void doc_si(struct doc_table *table, double value)
{
    doc_cell(table, "%s", units_si(value));
}

void doc_seconds(struct doc_table *table, double seconds)
{
    doc_cell(table, "%s", units_seconds(seconds));
}

void doc_share(struct doc_table *table, double share)
{
    doc_cell(table, "%s", text_percent(share));
}

void doc_tone(struct doc_table *table, enum doc_tone tone)
{
    struct doc_row *row = last(table);
    if (row && table->at)
        row->cell_tone[table->at - 1] = (unsigned char)tone;
}

void doc_put(struct doc_table *table, size_t row, size_t column, const char *text)
{
    while (table && table->n <= row && !table->doc->failed)
        doc_row(table, DOC_PLAIN);
    if (!table || table->n <= row || column >= DOC_COLUMNS)
        return;
    char **cell = &table->row[row].cell[column];
    free(*cell);
    *cell = strdup(text);
    table->doc->failed = table->doc->failed || !*cell;
}

static void table_free(struct doc_table *table)
{
    for (size_t i = 0; table && i < table->n; i++)
        for (size_t c = 0; c < DOC_COLUMNS; c++)
            free(table->row[i].cell[c]);
    for (size_t c = 0; table && c < table->ncolumns; c++)
        free(table->column[c].name);
    free(table ? table->row : NULL);
    free(table);
}

void doc_free(struct doc *doc)
{
    for (size_t i = 0; i < doc->n; i++) {
        free(doc->block[i].text);
        table_free(doc->block[i].table);
        if (doc->block[i].own)
            findings_free(doc->block[i].own);
        free(doc->block[i].own);
    }
    free(doc->block);
    *doc = (struct doc){0};
}
