/* The context of the numbers: commands, the machine, warnings, provenance. */

#include "harness/lib/str.h"
#include "harness/lib/strbuf.h"
#include "harness/lib/text.h"
#include "harness/show/html_parts.h"

static struct doc_table *begin(struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", "");
    doc_column(table, DOC_SENTENCE, "%s", "");
    return table;
}

/* Skips empty values. */
static void add_line(struct doc_table *table, const char *label, const char *text)
{
    if (!text || !text[0])
        return;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", label);
    doc_cell(table, "%s", text);
}

void html_facts(const struct html_side *side, FILE *out)
{
    struct doc doc = {0};
    struct doc_table *table = begin(&doc);
    for (size_t i = 0; i < side->about->nfacts; i++)
        add_line(table, side->about->facts[i].label, side->about->facts[i].text);
    html_doc(&doc, out);
}

static void print_note(const char *name, const char *text, FILE *out)
{
    (void)fputs("<li class=\"note\">", out);
    html_element("b", out, "%s", name);
    html_text(out, " %s", text);
    (void)fputs("</li>\n", out);
}

/* Findings that the verdict does not show, reasons of skipped placements, and notes of the run. */
void html_warnings(const struct html_side *side, FILE *out)
{
    const struct result *result = &side->recorded->result;
    struct doc doc = {0};
    doc_findings(&doc, &side->recorded->findings, DOC_REST);
    html_doc(&doc, out);
    (void)fputs("<ul class=\"findings\">\n", out);
    for (size_t i = 0; i < result->narms; i++)
        if (!result->arms[i].is_baseline && result->arms[i].plan.status == PLAN_SKIPPED)
            print_note(arm_name(&result->arms[i]), result->arms[i].plan.reason, out);
    for (size_t i = 0; i < side->about->nnotes; i++)
        print_note("note", side->about->notes[i], out);
    (void)fputs("</ul>\n", out);
}

static void add_command(struct doc_table *table, const struct about *about)
{
    struct strbuf line = {0};
    for (size_t i = 0; i < about->nwords; i++) {
        char word[512];
        bool fits = text_shell_word(about->words[i], word, sizeof(word)) < sizeof(word);
        strbuf_addf(&line, "%s%s", i ? " " : "", fits ? word : about->words[i]);
    }
    add_line(table, "to repeat it", line.text);
    strbuf_free(&line);
}

void html_provenance(const struct html_side *side, FILE *out)
{
    struct doc doc = {0};
    const struct recorded *recorded = side->recorded;
    struct doc_table *table = begin(&doc);
    const char *rounds =
        str_fmt("%u of %u", recorded->result.rounds_done, recorded->result.rounds_planned);
    const char *seed = str_fmt("%llu", (unsigned long long)recorded->result.seed);
    const char *const lines[][2] = {{"run", recorded->result.run_id},
                                    {"directory", side->path},
                                    {"measured by", recorded->version},
                                    {"commit", recorded->commit},
                                    {"status", side->about->status},
                                    {"started", side->about->started},
                                    {"ended", side->about->ended},
                                    {"rounds", rounds},
                                    {"seed", seed}};
    add_command(table, side->about);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        add_line(table, lines[i][0], lines[i][1]);
    html_doc(&doc, out);
}
