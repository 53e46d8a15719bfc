/* contend info: the machine, everything that contend can run, and what cannot run here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_health.h"
#include "harness/machine/topo.h"
#include "harness/machine/topo_check.h"
#include "harness/machine/topo_gpu.h"
#include "harness/plan/options.h"
#include "harness/record/json_machine.h"
#include "harness/show/doc.h"
#include "harness/show/json/forms.h"

struct info_args {
    const char *xml, *fake_gpus;
    bool json;
};

static const struct opt info_opts[] = {
    OPT_TEXT("xml", info_args, xml, NULL, "FILE|DESC",
             "Show the machine of an hwloc XML file, or of a description such as "
             "'package:2 l3:1 core:4 pu:2'"),
    OPT_FLAG("json", info_args, json, NULL, "Print JSON"),
    PLAN_GPUS_OPTION(info_args, fake_gpus),
    {.name = NULL}};

enum { INDENT = 14, MATRIX_NODES_MAX = 10 };

static const char *plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

static void print_cpus(const struct topo *topo)
{
    struct bitset allowed = {0}, all = {0};
    for (unsigned i = 0; i < topo->ncpus; i++)
        bitset_set(&all, topo->cpus[i].os_cpu);
    topo_allowed_cpus(topo, &allowed);
    if (bitset_equal(&all, &allowed))
        text_field(INDENT, "CPUs", "%u, all allowed: %s", topo->ncpus, bitset_format(&all));
    else
        text_field(INDENT, "CPUs", "%u, of which %u are allowed: %s", topo->ncpus,
                   bitset_count(&allowed), bitset_format(&allowed));
}

static void print_cores(const struct topo *topo)
{
    unsigned min, max;
    topo_threads_per_core(topo, &min, &max);
    if (min == max)
        text_field(INDENT, "Cores", "%u with %u thread%s each", topo->ncores, max, plural(max));
    else
        text_field(INDENT, "Cores", "%u with %u to %u threads each", topo->ncores, min, max);
    if (topo->is_this_machine && topo->hypervisor)
        text_field(INDENT, "",
                   "This is a virtual machine: cores, caches and nodes are what it reports. CPUs "
                   "may share a core, or a cache with other guests, unreported.");
}

static void print_kinds(const struct topo *topo)
{
    if (topo->nkinds < 2)
        return;
    text_field(INDENT, "Core kinds", "%u", topo->nkinds);
    for (unsigned kind = topo->nkinds; kind-- > 0;) {
        struct bitset cpus = {0};
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (topo->cpus[i].kind == (int)kind)
                bitset_set(&cpus, topo->cpus[i].os_cpu);
        const char *label = str_fmt("  kind %u", kind);
        text_field(INDENT, label, "%s: CPUs %s", topo_kind_name(topo, (int)kind),
                   bitset_format(&cpus));
    }
}

static void print_packages(const struct topo *topo)
{
    text_field(INDENT, "Packages", "%u", topo->npackages);
    for (unsigned package = 0; package < topo->npackages; package++) {
        struct bitset cpus = {0};
        unsigned cores = 0;
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (topo->cpus[i].package == (int)package) {
                bitset_set(&cpus, topo->cpus[i].os_cpu);
                cores += topo->cpus[i].smt == 0;
            }
        const char *label = str_fmt("  package %u", package);
        text_field(INDENT, label, "%u core%s, CPUs %s", cores, plural(cores), bitset_format(&cpus));
    }
}

static void print_caches(const struct topo *topo)
{
    if (topo->llc_level)
        text_field(INDENT, "Caches", "last level: L%u, %u of them", topo->llc_level, topo->nllcs);
    else
        text_field(INDENT, "Caches", "no shared one is reported; each package counts as one");
    for (unsigned i = 0; i < topo->ncaches; i++) {
        const struct topo_cache *cache = &topo->caches[i];
        const char *label = str_fmt("  L%d%s", cache->level, cache->level == 1 ? "d" : "");
        const char *bytes = cache->size_bytes ? units_bytes(cache->size_bytes) : "unknown size";
        text_field(INDENT, label, "%u of %s, %s %u CPU%s", cache->count, bytes,
                   cache->cpus > 1 ? "each shared by" : "each for", cache->cpus,
                   plural(cache->cpus));
    }
}

static void print_nodes(const struct topo *topo)
{
    text_field(INDENT, "NUMA nodes", "%u", topo->nnodes);
    for (unsigned i = 0; i < topo->nnodes; i++) {
        const struct topo_node *node = &topo->nodes[i];
        bool no_cpus = bitset_empty(&node->cpus), has_memory = topo_has_memory(topo, i);
        const char *label = str_fmt("  node %u", node->os_node);
        text_field(INDENT, label, "%s%s%s, %s%s%s",
                   node->memory_bytes ? units_bytes(node->memory_bytes)
                   : has_memory       ? "memory size not reported"
                   : node->unlisted   ? "no memory, or none allowed"
                                      : "no memory",
                   node->kind[0] ? " " : "", node->kind, no_cpus ? "no CPUs" : "CPUs ",
                   no_cpus ? "" : bitset_format(&node->cpus),
                   node->allowed || !has_memory ? "" : " (its memory is not allowed)");
        if (node->node_bytes)
            text_field(INDENT, "",
                       "/proc/meminfo says so; the kernel's file of the node says %s, which is "
                       "what numactl shows",
                       units_bytes(node->node_bytes));
    }
}

static void print_distances(const struct topo *topo)
{
    if (!topo->distances || topo->nnodes < 2)
        return;
    if (topo->nnodes > MATRIX_NODES_MAX) {
        text_field(INDENT, "Distances", "reported, %u x %u; see --json", topo->nnodes,
                   topo->nnodes);
        return;
    }
    text_field(INDENT, "Distances", "between nodes, as the firmware says (10 = local)");
    for (unsigned from = 0; from < topo->nnodes; from++) {
        char row[MATRIX_NODES_MAX * 12] = "";
        size_t used = 0;
        const char *label = str_fmt("  node %u", topo->nodes[from].os_node);
        for (unsigned to = 0; to < topo->nnodes; to++) {
            unsigned distance = topo->distances[(size_t)from * topo->nnodes + to];
            used += (size_t)snprintf(row + used, sizeof(row) - used, distance ? "%s%u" : "%s-",
                                     to ? " " : "", distance);
        }
        text_field(INDENT, label, "%s", row);
    }
}

static void print_health(const struct topo_gpu *gpu)
{
    struct findings findings = {0};
    const char *line = gpu_health_format(gpu->health);
    if (line[0])
        text_field(INDENT, "", "%s", line);
    gpu_health_judge(gpu->health, topo_gpu_name(gpu), &findings);
    for (size_t i = 0; i < findings.n; i++)
        text_field(INDENT, findings.all[i].severity == FINDING_BAD ? "            !" : "", "%s",
                   findings.all[i].sentence);
    findings_free(&findings);
}

static void print_hidden(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        text_field(INDENT, "", "CUDA does not see it: CUDA_VISIBLE_DEVICES is '%.60s'", visible);
    else
        text_field(INDENT, "", "CUDA does not see it");
}

static void print_gpu(const struct topo *topo, const struct topo_gpu *gpu)
{
    const char *near;
    const char *label =
        gpu->cuda_ordinal >= 0 ? str_fmt("  GPU %d", gpu->cuda_ordinal) : "  no ordinal";
    if (gpu->node >= 0)
        near =
            str_fmt("node %u (%s)", topo->nodes[gpu->node].os_node, topo_source_name(gpu->source));
    else if (bitset_empty(&gpu->cpus))
        near = "no known NUMA node";
    else
        near = "CPUs ";
    bool show_cpus = gpu->node < 0 && !bitset_empty(&gpu->cpus);
    text_field(INDENT, label, "%s %s%snear %s%s", gpu->pci_bdf, gpu->name, gpu->name[0] ? ", " : "",
               near, show_cpus ? bitset_format(&gpu->cpus) : "");
    if (gpu->cuda_ordinal < 0)
        print_hidden();
    if (gpu->note[0])
        text_field(INDENT, "", "%s", gpu->note);
    if (gpu->health)
        print_health(gpu);
}

static void print_gpus(const struct topo *topo)
{
    if (topo->ngpus == 0)
        text_field(INDENT, "GPUs", "none%s%s", topo->gpu_note[0] ? ": " : "", topo->gpu_note);
    else
        text_field(INDENT, "GPUs", "%u%s%s", topo->ngpus, topo->gpu_note[0] ? ": " : "",
                   topo->gpu_note);
    for (unsigned i = 0; i < topo->ngpus; i++)
        print_gpu(topo, &topo->gpus[i]);
}

static void print_topo(const struct topo *topo)
{
    text_field(INDENT, "Machine", "%s%s%s", topo->origin, topo->cpu_model[0] ? ": " : "",
               topo->cpu_model);
    print_cpus(topo);
    print_cores(topo);
    print_kinds(topo);
    print_packages(topo);
    print_caches(topo);
    print_nodes(topo);
    print_distances(topo);
    print_gpus(topo);
}

static int print_findings(const struct topo *topo, struct err *err)
{
    struct findings findings = {0};
    topo_check(topo, &findings);
    doc_print_findings(&findings, stdout, false);
    int rc = findings_check(&findings, err);
    findings_free(&findings);
    return rc;
}

/* Why a placement does not work here with two workers; "" = it does. */
static void explain(const struct topo *topo, enum placement placement, char *reason, size_t size)
{
    struct err err = {0};
    struct plan plan = {0};
    const struct plan_request request = {.placement = placement, .workers = 2};
    int rc = plan_make(topo, &request, &plan, &err);
    (void)snprintf(reason, size, "%s", rc ? err.msg : plan.reason);
    plan_free(&plan);
}

enum { SCENARIO_LIST, INCIDENT_LIST, BENCH_LIST, PLACEMENT_LIST, LISTS };

/* Adds an entry with name and summary; NULL: no memory. */
static struct list_entry *add(struct list *list, const char *name, const char *summary)
{
    struct list_entry *entry = array_add(list->entries, list->n, list->capacity);
    if (entry)
        *entry = (struct list_entry){.name = name, .summary = summary};
    return entry;
}

/* False: no memory. */
static bool gather(const struct cmd_env *env, const struct topo *topo, struct list lists[LISTS])
{
    struct list_entry *entry;
    lists[SCENARIO_LIST].kind = "scenarios";
    lists[INCIDENT_LIST].kind = "incidents";
    lists[BENCH_LIST].kind = "benchmarks";
    lists[PLACEMENT_LIST].kind = "placements";
    for (const struct scenario *s = env->scenarios; s->name; s++)
        if (!add(&lists[SCENARIO_LIST], s->name, s->summary))
            return false;
    for (size_t i = 0; env->incidents && env->incidents[i]; i++) {
        const struct incident *incident = env->incidents[i];
        if (!(entry =
                  add(&lists[INCIDENT_LIST], incident->scenario.name, incident->scenario.summary)))
            return false;
        entry->asked = true;
        text_set(entry->not_here, "%s", incident_not_here(incident, topo->nnodes));
    }
    for (const struct bench *const *b = env->benches; *b; b++) {
        if (!(entry = add(&lists[BENCH_LIST], (*b)->name, (*b)->summary)))
            return false;
        entry->asked = true;
        text_set(entry->not_here, "%s", named_not_here(topo, *b));
    }
    for (int p = 0; p < PLACEMENTS; p++) {
        const struct placement_info *info = &placement_infos[p];
        if (!(entry = add(&lists[PLACEMENT_LIST], info->name, info->summary)))
            return false;
        entry->asked = true;
        explain(topo, (enum placement)p, entry->not_here, sizeof(entry->not_here));
    }
    return true;
}

static void print_lists(const struct list lists[LISTS])
{
    enum { NAME_INDENT = 17 };
    static const char *const titles[LISTS] = {
        "\nScenarios (contend run NAME):", "\nPublished incidents (contend run incident NAME):",
        "\nBenchmarks (contend bench NAME):", "\nPlacements (--placement):"};
    for (int l = 0; l < LISTS; l++) {
        (void)printf("%s\n", titles[l]);
        for (size_t i = 0; i < lists[l].n; i++) {
            const struct list_entry *entry = &lists[l].entries[i];
            const char *label = str_fmt("  %s ", entry->name);
            text_field(NAME_INDENT, label, "%s", entry->summary);
            if (entry->not_here[0])
                text_field(NAME_INDENT, "", "not here: %s", entry->not_here);
        }
    }
}

/* Prints the machine and the lists. Returns the exit code. */
static int print_json(const struct topo *topo, const struct list lists[LISTS])
{
    json_t *json = topo_to_json(topo);
    list_add_json(json, lists, LISTS);
    return cmd_print_json(json, 2);
}

static int print_text(const struct topo *topo, const struct list lists[LISTS], struct err *err)
{
    print_topo(topo);
    int rc = print_findings(topo, err);
    print_lists(lists);
    return rc ? EXIT_NOT_RUN : cmd_finish();
}

static int show(const struct cmd_env *env, const struct info_args *args)
{
    struct err err = {0};
    struct topo topo;
    struct list lists[LISTS] = {{0}};
    struct topo_options options = {
        .xml = args->xml, .fake_gpus = args->fake_gpus, .probe_gpus = true};
    int code = EXIT_USAGE;
    int rc = topo_load(&options, &topo, &err);
    if (!rc && !gather(env, &topo, lists))
        rc = err_set(&err, -ENOMEM, "no memory for the lists");
    if (!rc)
        code = args->json ? print_json(&topo, lists) : print_text(&topo, lists, &err);
    if (err.msg[0])
        log_error("%s", err.msg);
    for (int l = 0; l < LISTS; l++)
        free(lists[l].entries);
    topo_free(&topo);
    return code;
}

static int info_main(const struct cmd_env *env, int argc, char **argv)
{
    struct info_args args = {0};
    struct cli cli;
    int code;
    return cmd_parse(env, &info_command, argc, argv, &args, &cli, &code) ? show(env, &args) : code;
}

const struct command info_command = {
    .name = "info",
    .group = "Look",
    .main = info_main,
    .summary = "the machine, benchmarks, placements; what cannot run here",
    .about =
        "Shows the machine and which CPUs each GPU is near, then scenarios, incidents, benchmarks "
        "and placements, each with the reason if it cannot run here.",
    .opts = info_opts,
    .examples = {{"contend info", "this machine"},
                 {"contend info --xml 'core:8 pu:2'", "one that is not here"}},
};
