#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/show/doc.h"

/* A longer label gets a line of its own; a longer cell is cut. */
enum { LABEL_MOST = 45, CELL_MOST = 27, WIDTH_LEAST = 20 };

enum paint { PAINT_NONE, PAINT_GOOD, PAINT_BAD, PAINT_BOLD, PAINT_DIM };

struct screen {
    FILE *out;
    int columns; /* of a line */
    bool color, all;
    bool any, gap; /* something was printed; the next block needs an empty line */
};

/* A wide table is printed as blocks of columns, each with the first column at its left. */
struct layout {
    const struct doc_table *table;
    int columns, label, gap, width[DOC_COLUMNS]; /* 0 = not shown */
    int head_lines;
    size_t end;               /* after the last column that is shown */
    bool corner_has_own_line; /* the first column's name gets a line of its own */
};

static const char *code_of(const struct screen *screen, enum paint paint)
{
    static const char *const codes[] = {"", "\033[32m", "\033[31m", "\033[1m", "\033[2m"};
    return screen->color ? codes[paint] : "";
}

static const char *end_of(const struct screen *screen, enum paint paint)
{
    return screen->color && paint ? "\033[0m" : "";
}

/* Returns the given line of a name, and its length in *length. */
static const char *line_of(const char *name, int line, int *length)
{
    while (line-- > 0 && name[strcspn(name, "\n")])
        name += strcspn(name, "\n") + 1;
    *length = (int)strcspn(name, "\n");
    return name;
}

static int count_lines(const char *name)
{
    int n = 1;
    for (; *name; name++)
        n += *name == '\n';
    return n;
}

static const char *text_at(const struct doc_row *row, size_t column)
{
    return row->cell[column] ? row->cell[column] : "-";
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int width_of(const struct doc_table *table, size_t column, bool with_name)
{
    int width = 0, length;
    const char *name = table->column[column].name ? table->column[column].name : "";
    for (int line = 0; with_name && line < count_lines(name); line++) {
        (void)line_of(name, line, &length);
        width = larger(width, length);
    }
    for (size_t i = 0; i < table->n; i++)
        if (table->row[i].tone != DOC_GROUP)
            width = larger(width, (int)strlen(text_at(&table->row[i], column)));
    return width;
}

/* The first DOC_DETAIL column: details are printed below the other columns. */
static size_t first_detail(const struct doc_table *table)
{
    size_t i = 1;
    while (i < table->ncolumns && table->column[i].kind != DOC_DETAIL)
        i++;
    return i;
}

/* Width of the columns after the first that share a line, without details. */
static int width_of_rest(const struct layout *layout, int gap)
{
    int width = 0;
    for (size_t i = 1; i < first_detail(layout->table); i++)
        width += layout->width[i] ? layout->width[i] + gap : 0;
    return width;
}

static bool fits(const struct layout *layout, int gap)
{
    return layout->label + width_of_rest(layout, gap) <= layout->columns;
}

/* True if the column shares a line with others. */
static bool is_cell(const struct layout *layout, size_t i)
{
    enum doc_kind kind = layout->table->column[i].kind;
    return i < layout->end && layout->table->column[i].name && kind < DOC_SENTENCE;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void lay_out(const struct doc_table *table, const struct screen *screen,
                    struct layout *layout)
{
    *layout = (struct layout){
        .table = table, .columns = screen->columns, .label = width_of(table, 0, false)};
    layout->end = screen->all ? table->ncolumns : first_detail(table);
    int widest = 0;
    for (size_t i = 0; i < table->ncolumns; i++) {
        int width = width_of(table, i, true);
        if (i > 0 && is_cell(layout, i))
            layout->width[i] = larger(DOC_NUMBER_LEAST, width < CELL_MOST ? width : CELL_MOST);
        if (table->column[i].name)
            layout->head_lines = larger(layout->head_lines, count_lines(table->column[i].name));
        widest = larger(widest, layout->width[i]);
    }
    layout->label = smaller(layout->label, smaller(LABEL_MOST, layout->columns - 2 - widest));
    layout->label = larger(layout->label, 0);
    for (size_t i = table->ncolumns; i-- > 1 && !fits(layout, 1);)
        if (table->column[i].kind == DOC_OPTIONAL)
            layout->width[i] = 0;
    layout->gap = fits(layout, 2) ? 2 : 1;
    int corner = width_of(table, 0, true);
    layout->corner_has_own_line =
        corner > layout->label && corner + width_of_rest(layout, layout->gap) > layout->columns;
    if (!layout->corner_has_own_line)
        layout->label = larger(layout->label, corner);
}

/* Prints the line without trailing blanks. */
static void end_line(const struct screen *screen, const char *line, enum paint paint)
{
    int length = (int)strlen(line);
    while (length && line[length - 1] == ' ')
        length--;
    (void)fprintf(screen->out, "%s%.*s%s\n", code_of(screen, paint), length, line,
                  end_of(screen, paint));
}

static void add_cell(const char **line, const struct layout *layout, size_t column,
                     const char *text, int length)
{
    int width = layout->width[column], used = length < width ? length : width;
    bool left = !doc_is_number(layout->table->column[column].kind);
    str_add(line, "", "%*s%*s%.*s%*s", layout->gap, "", left ? 0 : width - used, "", used, text,
            left ? width - used : 0, "");
}

static void print_head(const struct screen *screen, const struct layout *layout, size_t from,
                       size_t to)
{
    const struct doc_table *table = layout->table;
    const char *corner = table->column[0].name ? table->column[0].name : "";
    if (layout->corner_has_own_line && from == 1)
        (void)fprintf(screen->out, "%s\n", corner);
    for (int row = 0; row < layout->head_lines; row++) {
        const char *line = "";
        bool last = row + 1 == layout->head_lines;
        str_add(&line, "", "%-*s", layout->label,
                last && !layout->corner_has_own_line ? corner : "");
        for (size_t i = from; i < to; i++) {
            int length = 0;
            const char *name = table->column[i].name;
            int above = name ? layout->head_lines - count_lines(name) : 0;
            const char *text = name && row >= above ? line_of(name, row - above, &length) : "";
            if (layout->width[i])
                add_cell(&line, layout, i, text, length);
        }
        end_line(screen, line, PAINT_DIM);
    }
}

static void print_sentences(const struct screen *screen, const struct doc_table *table,
                            const struct doc_row *row)
{
    enum { INDENT = 10 };
    for (size_t i = 1; i < table->ncolumns; i++) {
        const char *text = row->cell[i];
        enum doc_kind kind = table->column[i].kind;
        if (kind < DOC_SENTENCE || (kind == DOC_REASON && !screen->all) || !text || !text[0])
            continue;
        (void)fprintf(screen->out, "%*s%s", INDENT, "", kind == DOC_COMMAND ? "$ " : "");
        if (kind == DOC_COMMAND)
            (void)fprintf(screen->out, "%s\n", text);
        else
            text_wrap(text, INDENT, INDENT, screen->out);
    }
}

static void add_label(const struct screen *screen, const struct layout *layout,
                      const struct doc_row *row, const char **line)
{
    const char *label = text_at(row, 0);
    enum paint paint = (enum paint)row->cell_tone[0];
    if ((int)strlen(label) > layout->label) {
        (void)fprintf(screen->out, "%s\n", label);
        label = "";
    }
    str_add(line, "", "%s%-*s%s", code_of(screen, paint), layout->label, label,
            end_of(screen, paint));
}

/* True if the row has a cell in these columns. A table of one block prints all its rows. */
static bool has_any(const struct layout *layout, const struct doc_row *row, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (layout->width[i] && row->cell[i])
            return true;
    return from == 1 && to == layout->end;
}

static void print_row(const struct screen *screen, const struct layout *layout,
                      const struct doc_row *row, size_t from, size_t to)
{
    const char *line = "";
    if (row->tone == DOC_GROUP) {
        text_wrap(text_at(row, 0), 0, 2, screen->out);
        return;
    }
    if (!has_any(layout, row, from, to))
        return;
    add_label(screen, layout, row, &line);
    for (size_t i = from; i < to; i++) {
        enum paint paint = (enum paint)row->cell_tone[i];
        if (!layout->width[i])
            continue;
        str_add(&line, "", "%s", code_of(screen, paint));
        add_cell(&line, layout, i, text_at(row, i), (int)strlen(text_at(row, i)));
        str_add(&line, "", "%s", end_of(screen, paint));
    }
    end_line(screen, line, (enum paint)row->tone);
    if (to == layout->end)
        print_sentences(screen, layout->table, row);
}

/* The end of the columns that fit on one line, from `from` on. */
static size_t end_of_block(const struct layout *layout, size_t from)
{
    int used = layout->label;
    size_t to = from;
    for (; to < layout->end; to++) {
        int width = layout->width[to] ? layout->width[to] + layout->gap : 0;
        if (to > from && (used + width > layout->columns || to == first_detail(layout->table)))
            break;
        used += width;
    }
    return to;
}

static void print_table(const struct screen *screen, const struct doc_table *table)
{
    struct layout layout;
    lay_out(table, screen, &layout);
    for (size_t from = 1, to; from < layout.end; from = to) {
        to = end_of_block(&layout, from);
        print_head(screen, &layout, from, to);
        for (size_t i = 0; i < table->n; i++)
            print_row(screen, &layout, &table->row[i], from, to);
    }
}

static void print_command(const struct screen *screen, const struct finding *finding,
                          const char *indent)
{
    if (finding->command[0]) /* not wrapped, so that it can be copied */
        (void)fprintf(screen->out, "%s%s: %s\n", indent, finding_command_label(finding),
                      finding->command);
}

static void print_painted(const struct screen *screen, const char *text, int indent,
                          enum paint paint)
{
    (void)fputs(code_of(screen, paint), screen->out);
    text_wrap(text, 0, indent, screen->out);
    (void)fputs(end_of(screen, paint), screen->out);
}

static void print_subject(const struct screen *screen, const struct finding *finding)
{
    static const char marks[FINDING_SEVERITIES] = {'-', '~', '!'};
    const char *line =
        str_fmt("%c %s: %s", marks[finding->severity], finding->subject, finding->sentence);
    print_painted(screen, line, 2, finding->severity == FINDING_BAD ? PAINT_BAD : PAINT_NONE);
    print_command(screen, finding, "  ");
}

/* Prints findings about the whole: those that lead, or the rest. Returns true if it printed any. */
static bool print_whole(const struct screen *screen, const struct findings *findings, bool leading)
{
    bool any = false;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        if (finding->subject[0] || doc_leads(findings, i) != leading)
            continue;
        (void)fputs(any ? "\n" : "", screen->out);
        print_painted(screen, finding->sentence, 0, PAINT_BOLD);
        print_command(screen, finding, "");
        any = true;
    }
    return any;
}

/* True for notes that explain a number or state what is usual. */
static bool is_detail(const struct finding *finding)
{
    static const char *const ids[] = {"absent_here", "bound", "machine_moved", "units_alike"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (finding->severity == FINDING_NOTE && !strcmp(finding->id, ids[i]))
            return true;
    return false;
}

/* Unless `all`, only the first few doubts are shown; *doubts counts all of them. */
static bool is_shown(const struct finding *finding, bool all, size_t *doubts)
{
    enum { DOUBTS = 2 };
    if (!finding->subject[0])
        return false;
    if (finding->severity == FINDING_DOUBT)
        return ++*doubts <= DOUBTS || all;
    return all || !is_detail(finding);
}

static bool any_is_shown(const struct findings *findings, bool all)
{
    size_t doubts = 0;
    for (size_t i = 0; i < findings->n; i++)
        if (!doc_leads(findings, i) &&
            (!findings->all[i].subject[0] || is_shown(&findings->all[i], all, &doubts)))
            return true;
    return false;
}

static void print_findings(const struct screen *screen, const struct findings *findings,
                           bool leading)
{
    size_t doubts = 0, shown = 0;
    bool any = print_whole(screen, findings, leading);
    for (size_t i = 0; i < findings->n && !leading; i++) {
        size_t before = doubts;
        bool show = is_shown(&findings->all[i], screen->all, &doubts);
        shown += show && doubts > before;
        if (!show)
            continue;
        (void)fputs(any ? "\n" : "", screen->out);
        any = false;
        print_subject(screen, &findings->all[i]);
    }
    if (doubts > shown)
        (void)fprintf(screen->out, "~ %zu more warnings: with -v\n", doubts - shown);
}

static void print_block(struct screen *screen, const struct doc_block *block)
{
    const char *text = block->text ? block->text : "";
    if (block->kind == DOC_FINDINGS && block->which == DOC_REST &&
        !any_is_shown(block->findings, screen->all))
        return;
    bool apart = block->kind == DOC_HEADING || block->kind == DOC_FINDINGS;
    if (screen->any && (screen->gap || apart))
        (void)fputc('\n', screen->out);
    screen->any = true;
    screen->gap = block->kind == DOC_FINDINGS;
    if (block->kind == DOC_HEADING)
        (void)fprintf(screen->out, "%s%s%s\n", code_of(screen, PAINT_BOLD), text,
                      end_of(screen, PAINT_BOLD));
    else if (block->kind == DOC_TEXT || block->kind == DOC_NOTE)
        text_wrap(text, 0, 2, screen->out);
    else if (block->kind == DOC_TABLE)
        print_table(screen, block->table);
    else
        print_findings(screen, block->findings, block->which == DOC_LEADING);
}

/* As text_wrap breaks lines: only a terminal may be narrower. */
static int columns_of(FILE *out)
{
    unsigned columns = out == stdout ? terminal_columns(STDOUT_FILENO) : 0;
    return columns && columns <= TEXT_WIDTH ? larger((int)columns - 1, WIDTH_LEAST) : TEXT_WIDTH;
}

void doc_print(const struct doc *doc, FILE *out, bool color, bool all)
{
    struct screen screen = {.out = out, .columns = columns_of(out), .color = color, .all = all};
    bool folded = false;
    for (size_t i = 0; i < doc->n; i++) {
        const struct doc_block *block = &doc->block[i];
        if (block->kind == DOC_FOLD || block->kind == DOC_OPEN || block->kind == DOC_UNFOLD)
            folded = block->kind != DOC_UNFOLD && !all;
        else if (block->kind == DOC_GAP)
            screen.gap = true;
        else if (!folded && (all || block->kind != DOC_NOTE))
            print_block(&screen, block);
    }
}

void doc_print_findings(const struct findings *findings, FILE *out, bool color)
{
    struct doc doc = {0};
    doc_findings(&doc, findings, DOC_LEADING);
    doc_findings(&doc, findings, DOC_REST);
    (void)fputs(doc.n ? "\n" : "", out);
    doc_print(&doc, out, color, true);
    doc_free(&doc);
}
