/* Table of a run's time by arm and phase, for --verbose. */
#include <stdio.h>

#include "harness/cmd/session/session.h"
#include "harness/lib/sys/terminal.h"
#include "harness/show/doc.h"
#include "harness/verdict/odd.h"

/* Adds one row for arms first..end-1. Returns their time in seconds. */
static double add_row(const char *name, const struct result *result, size_t first, size_t end,
                      struct doc_table *table)
{
    double phase_s[PHASES] = {0}, all_s = 0;
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++, n++)
            for (int p = 0; p < PHASES; p++) {
                phase_s[p] += result->arms[i].observations[o].phase_s[p];
                all_s += result->arms[i].observations[o].phase_s[p];
            }
    if (!n)
        return 0;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    doc_cell(table, "%zu", n);
    for (int p = 0; p < PHASES; p++)
        doc_cell(table, "%.1f", phase_s[p]);
    doc_cell(table, "%.1f", all_s);
    return all_s;
}

static void add_rest(const char *name, double seconds, struct doc_table *table)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    if (table)
        table->at = 2 + PHASES;
    doc_cell(table, "%.1f", seconds);
}

void session_print_times(const struct session *s, FILE *out)
{
    const struct result *result = &s->setup->result;
    struct doc doc = {0};
    double rounds_s = 0;
    const char *name;
    doc_heading(&doc, "where the time went");
    struct doc_table *table = doc_table(&doc);
    doc_column(table, DOC_LABEL, "seconds");
    doc_column(table, DOC_NUMBER, "starts");
    for (int p = 0; p < PHASES; p++)
        doc_column(table, DOC_NUMBER, "%s", phase_name((enum phase)p));
    doc_column(table, DOC_NUMBER, "all");
    for (size_t i = 0; i < result->narms; i++) {
        name = statuses_name_arm(result, &result->arms[i]);
        rounds_s += add_row(result->arms[i].is_control ? result->arms[i].bench->name : name, result,
                            i, i + 1, table);
    }
    (void)add_row("all", result, 0, result->narms, table);
    add_rest("planning", s->planned_s, table);
    add_rest("between rounds", s->measured_s - rounds_s, table);
    add_rest("figures and files", s->shown_s, table);
    doc_print(&doc, out, terminal_has_color(fileno(out)), true);
    doc_free(&doc);
}
