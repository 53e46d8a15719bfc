#include "harness/validate/tables.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"
#include "version.h"

/* What a customer signs: the machine, and each number beside its bounds. */

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

/* What a terminal shows only with all details, and a page always. */
static void certificate_add_machine(const struct validation *validation, struct doc *doc)
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
        return least;
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

static void certificate_add_numbers(const struct findings *numbers, struct doc *doc)
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

static void certificate_add_measured(const struct facts *facts, struct doc *doc)
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

const char *validation_format_brief(const struct validation *validation)
{
    const struct rules_verdict *verdict = validation->verdict;
    const struct findings *findings = validation->findings;
    const struct finding *worst = NULL;
    size_t more = 0;
    if (verdict->outcome != OUTCOME_FAIL && verdict->outcome != OUTCOME_ERROR)
        return verdict->text;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        more += worst && finding->outcome == worst->outcome && !finding->waived;
        worst = worst || finding->waived ? worst : finding;
    }
    if (!worst)
        return verdict->text;
    return text_one_line(str_fmt("%s: %s%s%s%s", finding_outcome_name(verdict->outcome),
                                 worst->subject, worst->subject[0] ? ": " : "", worst->sentence,
                                 more ? str_fmt("; %zu more", more) : ""));
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

static void fleet_add_line(const char *name, enum finding_outcome outcome, const char *much,
                           const char *what, struct doc_table *table)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    doc_cell(table, "%s", finding_outcome_name(outcome));
    doc_tone(table, outcome == OUTCOME_FAIL ? DOC_BAD : DOC_PLAIN);
    doc_cell(table, "%s", much);
    doc_cell(table, "%s", what);
}

static void add_offence(const struct fleet_judgement *judgement,
                        const struct fleet_offence *offence, bool is_first, struct doc_table *table)
{
    struct finding finding;
    const char *much = fleet_finding(judgement, offence, &finding);
    const char *what =
        str_fmt("%.*s%s%s", (int)(much - finding.sentence) - (*much ? (int)strlen(": ") : 0),
                finding.sentence, finding.evidence[0] ? ": " : "", finding.evidence);
    fleet_add_line(is_first ? finding.subject : "", offence->outcome, much, what, table);
}

static void add_machine(const struct fleet_judgement *judgement, const struct fleet_judged *machine,
                        struct doc_table *table)
{
    if (!machine->noffences)
        fleet_add_line(intern_text(&judgement->fleet->names, machine->machine), machine->outcome,
                       "", FLEET_NOT_JUDGED, table);
    for (size_t i = 0; i < machine->noffences && i < FLEET_OFFENCES; i++)
        add_offence(judgement, &judgement->offences[machine->first + i], !i, table);
    if (machine->noffences > FLEET_OFFENCES) {
        doc_row(table, DOC_GROUP);
        doc_cell(table, "and %zu more", machine->noffences - FLEET_OFFENCES);
    }
}

static void fleet_put_verdict(const struct fleet_judgement *judgement, struct doc *doc)
{
    const size_t *count = judgement->count;
    bool fails = count[OUTCOME_FAIL], skips = count[OUTCOME_SKIP];
    const char *command = "";
    const char *skipped = skips ? str_fmt(", %zu not judged", count[OUTCOME_SKIP]) : "";
    if (fails) /* the rules on the worst machine name the fault */
        command = str_fmt(
            "ssh %s sudo contend validate",
            text_shell_word(intern_text(&judgement->fleet->names, judgement->machines[0].machine)));
    doc_verdict(doc,
                fails   ? FINDING_BAD
                : skips ? FINDING_DOUBT
                        : FINDING_NOTE,
                command, "%s: %zu of %zu machines fail, %zu are odd, %zu pass%s",
                finding_outcome_name(fails   ? OUTCOME_FAIL
                                     : skips ? OUTCOME_SKIP
                                             : OUTCOME_PASS),
                count[OUTCOME_FAIL], judgement->nmachines, count[OUTCOME_WARN], count[OUTCOME_PASS],
                skipped);
}

void fleet_add_to_doc(const struct fleet_judgement *judgement, struct doc *doc)
{
    const struct bounds *bounds = judgement->bounds;
    size_t nodd = judgement->nmachines - judgement->count[OUTCOME_PASS];
    struct doc_table *table;
    fleet_put_verdict(judgement, doc);
    doc_text(doc, "%zu results of machines of %s; %zu figures with bounds: %s, of %u machines",
             judgement->fleet->nruns, bounds->kind && *bounds->kind ? bounds->kind : "any kind",
             bounds->n, bounds->how, bounds->machines);
    if (!nodd)
        return;
    doc_gap(doc);
    table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "machine", "result", "by how much", NULL);
    doc_column(table, DOC_SENTENCE, "what is off");
    for (size_t i = 0; i < nodd && i < FLEET_LINES; i++)
        add_machine(judgement, &judgement->machines[i], table);
    if (nodd > FLEET_LINES)
        doc_text(doc, "and %zu more machines; --json has all", nodd - FLEET_LINES);
}

void bounds_add_to_doc(const struct bounds *bounds, size_t machines, const char *path,
                       struct doc *doc)
{
    struct doc_table *table = NULL;
    const char *command = str_fmt("contend validate fleet DIR --bounds %s", text_shell_word(path));
    doc_verdict(doc, FINDING_NOTE, command, "%zu figures have bounds, by %u of %zu machines",
                bounds->n, bounds->machines, machines);
    doc_text(doc, "machines of %s; %s", bounds->kind, bounds->how);
    for (size_t i = 0; i < bounds->nleft_out; i++) {
        if (!table) {
            doc_gap(doc);
            table = doc_table(doc);
            doc_column(table, DOC_LABEL, "left out");
            doc_column(table, DOC_SENTENCE, "why");
        }
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", bounds->left_out[i].machine);
        doc_cell(table, "%s", bounds->left_out[i].reason);
    }
}
