/* What a customer signs: the machine, and each number beside its bounds. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/validate/tables.h"
#include "version.h"

__attribute__((format(printf, 3, 4))) static void add_line(struct doc_table *table,
                                                           const char *name, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!text[0])
        return;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    doc_cell(table, "%s", text);
}

static void add_gpus(const struct topo *topo, struct doc_table *table)
{
    for (unsigned i = 0; i < topo->ngpus; i++) {
        const struct topo_gpu *gpu = &topo->gpus[i];
        const char *name = str_fmt("GPU %u", i);
        add_line(table, name, "%s, %s%s%s", gpu->name, gpu->pci_bdf,
                 gpu->vbios[0] ? ", VBIOS " : "", gpu->vbios);
    }
}

void certificate_add_machine(const struct validation *validation, struct doc *doc)
{
    const struct facts *facts = validation->facts;
    const struct environment *env = &facts->env;
    const struct topo *topo = facts->topo;
    struct doc_table *table;
    const char *memory = env->memory_bytes > 0 ? units_bytes((uint64_t)env->memory_bytes) : "";
    doc_open(doc, "The machine");
    table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", "");
    doc_column(table, DOC_SENTENCE, "%s", "");
    add_line(table, "host", "%s", facts->host);
    add_line(table, "judged", "%s by contend %s", validation->utc, CONTEND_VERSION);
    add_line(table, "product", "%s%s%s", env->machine_vendor, env->machine_vendor[0] ? " " : "",
             env->machine_product);
    add_line(table, "processor", "%s, %u package%s, %u cores, %u CPUs", env->cpu_model,
             topo->npackages, topo->npackages == 1 ? "" : "s", topo->ncores, topo->ncpus);
    add_line(table, "memory", "%s, %u NUMA node%s", memory, topo->nnodes,
             topo->nnodes == 1 ? "" : "s");
    add_gpus(topo, table);
    add_line(table, "driver", "%s", env->driver);
    add_line(table, "system", "%s, Linux %s%s%s", env->os, env->kernel,
             env->hypervisor[0] ? ", under " : "", env->hypervisor);
    doc_unfold(doc);
}

/* Equal numbers of several units, which share a row. */
static bool is_same_row(const struct finding *a, const struct finding *b)
{
    const bool same_low = a->low == b->low || (isnan(a->low) && isnan(b->low));
    const bool same_high = a->high == b->high || (isnan(a->high) && isnan(b->high));
    return same_low && same_high && a->outcome == b->outcome && strcmp(a->id, b->id) == 0 &&
           strcmp(a->metric, b->metric) == 0;
}

/* What the table multiplies a number by: it shows shares in %. */
static double scale_of(const struct finding *number)
{
    return strcmp(number->unit, "share") == 0 ? 100 : 1;
}

static const char *format_bound(const struct finding *number)
{
    const double low = scale_of(number) * number->low, high = scale_of(number) * number->high;
    const char *least = units_plain(low, 4), *most = units_plain(high, 4);
    if (isnan(low) && isnan(high))
        return "none";
    if (low == high)
        return str_fmt("%s", least);
    if (isnan(high))
        return str_fmt("at least %s", least);
    if (isnan(low))
        return str_fmt("at most %s", most);
    return str_fmt("%s to %s", least, most);
}

static void add_range(double least, double most, const char *unit, struct doc_table *table)
{
    if (isinf(most))
        doc_cell(table, "no limit");
    else if (least < most)
        doc_cell(table, "%s to %s %s", units_plain(least, 4), units_plain(most, 4), unit);
    else
        doc_cell(table, "%s %s", units_plain(least, 4), unit);
}

static void add_row(const struct finding *first, size_t n, struct doc_table *table)
{
    double least = scale_of(first) * first->value, most = least;
    for (size_t i = 1; i < n; i++) {
        least = fmin(least, scale_of(first) * first[i].value);
        most = fmax(most, scale_of(first) * first[i].value);
    }
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", finding_outcome_name(first->outcome));
    doc_tone(table, first->outcome == OUTCOME_PASS   ? DOC_GOOD
                    : first->outcome == OUTCOME_FAIL ? DOC_BAD
                                                     : DOC_PLAIN);
    doc_cell(table, "%s", first->metric);
    add_range(least, most, scale_of(first) > 1 ? "%" : first->unit, table);
    doc_cell(table, "%s", format_bound(first));
    doc_cell(table, "%zu", n);
    doc_cell(table, "%s", first->id);
}

void certificate_add_numbers(const struct findings *numbers, struct doc *doc)
{
    struct doc_table *table;
    if (!numbers->n)
        return;
    doc_open(doc, "Each number, and its bounds");
    table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "result", "number", NULL);
    doc_columns(table, DOC_NUMBER, "measured", "bounds", "units", NULL);
    doc_column(table, DOC_CODE, "rule");
    for (size_t i = 0, n; i < numbers->n; i += n) {
        for (n = 1; i + n < numbers->n && is_same_row(&numbers->all[i], &numbers->all[i + n]);)
            n++;
        add_row(&numbers->all[i], n, table);
    }
    doc_unfold(doc);
}

/* "gpu=3;dir=h2d" -> "dir=h2d": the key without the unit that was measured. */
static const char *drop_unit(const char *key)
{
    static const char *const units[] = {"cpu=", "gpu=", "node="};
    const char *text = "";
    for (size_t length; *key; key += length + (key[length] == ';')) {
        bool is_unit = false;
        length = strcspn(key, ";");
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
            is_unit = is_unit || strncmp(key, units[i], strlen(units[i])) == 0;
        if (!is_unit)
            str_add(&text, " ", "%.*s", (int)length, key);
    }
    return text;
}

/* Adds the gating values of a measurement: one row for all units of a metric and key. */
static void add_measured(const char *probe, const struct facts_probe *of, struct doc_table *table)
{
    const char *key;
    const char *other;
    for (size_t i = 0; i < of->n; i++) {
        const struct facts_value *first = &of->values[i];
        double least = INFINITY, most = -INFINITY;
        size_t n = 0, before = 0;
        key = drop_unit(first->key);
        for (size_t j = 0; j < of->n; j++) {
            const struct facts_value *value = &of->values[j];
            other = drop_unit(value->key);
            if (strcmp(value->metric, first->metric) != 0 || strcmp(key, other) != 0 ||
                isnan(value->value))
                continue;
            before += j < i;
            n++;
            least = fmin(least, value->value);
            most = fmax(most, value->value);
        }
        if (!first->gating || !n || before)
            continue;
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", probe);
        doc_cell(table, "%s", first->metric);
        doc_cell(table, "%zu", n);
        add_range(least, most, first->unit ? first->unit : "", table);
        doc_cell(table, "%s", key);
    }
}

static bool any_gates(const struct facts *facts)
{
    for (int i = 0; i < PROBES; i++)
        for (size_t j = 0; j < facts->probes[i].n; j++)
            if (facts->probes[i].values[j].gating)
                return true;
    return false;
}

void certificate_add_measured(const struct facts *facts, struct doc *doc)
{
    struct doc_table *table;
    if (!any_gates(facts))
        return;
    doc_open(doc, "What was measured");
    table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "measurement", "number", NULL);
    doc_columns(table, DOC_NUMBER, "units", "measured", NULL);
    doc_column(table, DOC_SENTENCE, "of");
    for (int i = 0; i < PROBES; i++)
        add_measured(facts_probe_names[i], &facts->probes[i], table);
    doc_unfold(doc);
}
