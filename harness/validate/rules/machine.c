#include "harness/validate/rules/machine.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/machine/topo_gpu.h"
#include "harness/validate/rules/rules.h"

/* A fact that can be read: a number or a text. */
struct machine_known {
    const char *name, *shown, *needs; /* needs: what an unknown fact needs */
    enum limit_of of;                 /* OF_MACHINE or OF_GPU */
    struct number number;
    double per; /* numbers are divided by it; 0 = 1 */
    const char *(*text)(const struct unit *unit);
};

static const char *gpu_name(const struct unit *unit)
{
    return unit->facts->topo->gpus[unit->i].name;
}

static const char *cpu_model(const struct unit *unit)
{
    return unit->facts->env.cpu_model;
}

#define NVML "the driver to tell"
static const struct machine_known knowns[] = {
    {"gpu_name", "name", NVML, OF_GPU, .text = gpu_name},
    {"gpu_memory", "memory", NVML, OF_GPU, GPU(memory_bytes), 0x1p30},
    {"pcie_lanes", "PCIe lanes", NVML, OF_GPU, GPU(pcie_width)},
    {"pcie_generation", "PCIe generation", NVML, OF_GPU, GPU(pcie_generation_link)},
    {"nvlinks", "active NVLinks", NVML, OF_GPU, GPU(nvlinks_active)},
    {"power_limit", "power limit", NVML, OF_GPU, GPU(power_limit_w)},
    {"ecc", "ECC", NVML, OF_GPU, GPU(ecc)},
    {"cpu_model", "processor", "/proc/cpuinfo", OF_MACHINE, .text = cpu_model},
    {"steal", "stolen CPU time", "/proc/stat", OF_MACHINE, FACT(steal), 0.01},
    {"virtual", "hypervisor", "/proc/cpuinfo", OF_MACHINE, FACT(env.virtual_machine)},
    {.name = NULL}};

const struct machine_known *machine_known_find(const char *name)
{
    const struct machine_known *known = knowns;
    while (known->name && strcmp(known->name, name) != 0)
        known++;
    return known->name ? known : NULL;
}

size_t machine_is_of(const struct machine_kind *kind, const struct topo_gpu *gpu)
{
    const double gib = gpu->health ? gpu->health->memory_bytes / 0x1p30 : NAN;
    size_t named = 0;
    for (size_t i = 0; i < kind->n; i++) {
        const struct machine_fact *fact = &kind->facts[i];
        if (fact->of && fact->of->text == gpu_name)
            named = strlen(fact->has);
        if (fact->of && ((fact->of->text == gpu_name && !strstr(gpu->name, fact->has)) ||
                         (strcmp(fact->of->name, "gpu_memory") == 0 &&
                          (gib < fact->least || gib > fact->most))))
            return 0;
    }
    return named;
}

bool machine_known_is_text(const struct machine_known *known)
{
    return known->text;
}

/* The best value measured on a GPU, or (gpu NULL) on the machine; NaN = none. */
static double best(const struct facts_probe *probe, const struct machine_fact *fact,
                   const char *gpu)
{
    double value = NAN;
    for (size_t i = 0; i < probe->n; i++) {
        const struct facts_value *one = &probe->values[i];
        if (strcmp(one->metric, fact->metric) == 0 && text_has_words(one->key, ';', fact->key) &&
            text_has_words(one->key, ';', gpu))
            value = isnan(fact->least) ? fmin(value, one->value) : fmax(value, one->value);
    }
    return value;
}

static bool is_by_gpu(const struct facts_probe *probe, const char *metric)
{
    for (size_t i = 0; i < probe->n; i++)
        if (strcmp(probe->values[i].metric, metric) == 0 && strstr(probe->values[i].key, "gpu="))
            return true;
    return false;
}

static void judge_number(struct checks *checks, const struct machine_fact *fact, const char *unit,
                         const char *shown, double value)
{
    const bool is_less = value < fact->least, is_odd = fact->least == fact->most;
    const double bound = is_less || isnan(fact->most) ? fact->least : fact->most;
    const struct check check = {.unit = unit,
                                .evidence = fact->source,
                                .metric = shown,
                                .in = fact->unit,
                                .value = value,
                                .low = fact->least,
                                .high = fact->most};
    const bool is_wrong = is_less || value > fact->most;
    check_number(checks, is_wrong ? OUTCOME_FAIL : OUTCOME_PASS, &check);
    if (is_wrong)
        check_report(checks, OUTCOME_FAIL, &check, "%s: %s%s%s instead of %s%s%s%s", shown,
                     units_plain(value, 4), fact->unit[0] ? " " : "", fact->unit,
                     is_odd    ? ""
                     : is_less ? "at least "
                               : "at most ",
                     units_plain(bound, 4), fact->unit[0] ? " " : "", fact->unit);
}

static void judge_text(struct checks *checks, const struct machine_fact *fact, const char *unit,
                       const char *text)
{
    const struct check check = {.unit = unit, .evidence = fact->source};
    if (!strstr(text, fact->has))
        check_report(checks, OUTCOME_FAIL, &check, "%s: '%.60s' instead of one with '%s'",
                     fact->of->shown, text, fact->has);
}

static void judge_read(struct checks *checks, const struct machine_fact *fact, unsigned ngpus)
{
    const struct machine_known *known = fact->of;
    const struct topo *topo = checks->facts->topo;
    for (unsigned i = 0; i < (known->of == OF_GPU ? ngpus : 1); i++) {
        struct unit unit = {.facts = checks->facts, .of = known->of, .i = i};
        unit.at = known->of == OF_GPU ? (const void *)topo->gpus[i].health : checks->facts;
        const char *name = known->of == OF_GPU ? topo_gpu_name(&topo->gpus[i]) : "";
        const char *text = known->text ? known->text(&unit) : "";
        double value = known->text || !unit.at ? (double)NAN : unit_number(&known->number, &unit);
        if (text[0])
            judge_text(checks, fact, name, text);
        else if (isnan(value))
            check_report(checks, OUTCOME_ERROR, &(struct check){.unit = name},
                         "its %s is named and not known here: needs %s", known->shown,
                         known->needs);
        else
            judge_number(checks, fact, name, known->shown,
                         value / (known->per > 0 ? known->per : 1));
    }
}

unsigned machine_probes(const struct machine_kind *kind, const char *metric)
{
    unsigned probes = 0;
    for (size_t i = 0; i < kind->n; i++) {
        const struct machine_fact *fact = &kind->facts[i];
        if (!fact->of && strncmp(metric, fact->metric, strlen(fact->metric)) == 0)
            probes |= 1u << fact->probe;
    }
    return probes;
}

static void judge_measured(struct checks *checks, const struct machine_fact *fact, unsigned ngpus)
{
    const struct facts_probe *probe = &checks->facts->probes[fact->probe];
    const bool by_gpu = is_by_gpu(probe, fact->metric);
    const char *shown = str_fmt("%s%s%s", fact->metric, fact->key[0] ? " " : "", fact->key);
    for (unsigned i = 0; i < (by_gpu ? ngpus : 1); i++) {
        char gpu[32];
        const struct topo_gpu *of = by_gpu ? &checks->facts->topo->gpus[i] : NULL;
        const char *name = of ? topo_gpu_name(of) : "";
        text_set(gpu, "gpu=%d", of ? of->cuda_ordinal : 0);
        double value = best(probe, fact, of ? gpu : NULL);
        if (isnan(value))
            check_report(checks, OUTCOME_ERROR, &(struct check){.unit = name},
                         "%s is named and was not measured: %.150s", shown,
                         probe->reason[0] ? probe->reason : "no value of this unit");
        else
            judge_number(checks, fact, name, shown, value);
    }
}

static void skip_unnamed(struct checks *checks)
{
    const char *suggested = checks->request->suggested;
    const char *command = str_fmt("contend validate --machine %s", suggested);
    check_report(checks, OUTCOME_SKIP, &(struct check){.command = suggested[0] ? command : NULL},
                 "needs --machine, such as %s", suggested[0] ? suggested : "8xh100-sxm");
}

static void judge(struct checks *checks, bool measured)
{
    const struct machine_kind *kind = checks->request->machine;
    const unsigned ngpus = checks->facts->topo->ngpus;
    const size_t before = checks->findings->n;
    size_t n = 0;
    for (size_t i = 0; kind && i < kind->n; i++) {
        const struct machine_fact *fact = &kind->facts[i];
        const bool of_gpu =
            fact->of ? fact->of->of == OF_GPU : fact->probe != PROBE_MEMORY_BANDWIDTH;
        if (ngpus < fact->gpus || measured != !fact->of || (of_gpu && !ngpus))
            continue; /* too few GPUs: --expect reports that */
        n++;
        (measured ? judge_measured : judge_read)(checks, fact, ngpus);
    }
    if (!kind)
        skip_unnamed(checks);
    else if (!n)
        check_report(checks, OUTCOME_SKIP, NULL, "%s names none", kind->name);
    else if (checks->findings->n == before)
        check_report(checks, OUTCOME_PASS, NULL, "%zu fact%s of %s hold%s", n, n == 1 ? "" : "s",
                     kind->name, n == 1 ? "s" : "");
}

static void judge_facts(struct checks *checks)
{
    judge(checks, false);
}

static void judge_rates(struct checks *checks)
{
    judge(checks, true);
}

const struct rule rules_machine[] = {
    {RULES_MACHINE_ID, RULE_COUNT, "hardware", ACTION_REPLACE, "--machine",
     "What --machine names is there: names, memory, links, power limits. What cannot be known is "
     "an "
     "error.",
     "the file of the machine names one for each", "contend info", .judge = judge_facts},
    {RULES_MACHINE_RATES_ID, RULE_COUNT, "hardware", ACTION_REPLACE, "--machine, measurement",
     "What --machine names is as fast as it says. What was not measured is an error.",
     "the file of the machine names one for each",
     "contend bench gpu_copy; contend bench gpu_stream",
     .probes = (1u << PROBE_MEMORY_BANDWIDTH) | (1u << PROBE_GPU_STREAM) | (1u << PROBE_GPU_COPY) |
               (1u << PROBE_GPU_MATMUL) | (1u << PROBE_COLLECTIVE),
     .judge = judge_rates},
    {.id = NULL}};
