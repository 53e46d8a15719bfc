/* contend list: benchmarks, scenarios, placements; what cannot run here, and why. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/machine/topo/topo.h"
#include "harness/plan/placement/plan.h"
#include "harness/store/forms/list.h"
#include "harness/store/json/value.h"

struct list_options {
    bool json;
};

static const struct opt list_options[] = {
    OPT_FLAG("json", list_options, json, NULL, "Print JSON"),
    {.name = NULL},
};

/* Why a placement is not for this machine with two workers; "" when it is. */
static void explain(const struct topo *topo, enum placement placement, char *reason, size_t size)
{
    struct err err = {0};
    struct plan plan = {0};
    const struct plan_request request = {.placement = placement, .workers = 2};
    int rc = plan_make(topo, &request, &plan, &err);
    (void)snprintf(reason, size, "%s", rc ? err.msg : plan.reason);
    plan_free(&plan);
}

/* Why a benchmark would be skipped here, as far as the topology tells; "" when it would not. */
static void explain_bench(const struct topo *topo, const struct bench *bench, char *reason,
                          size_t size)
{
    unsigned gpus = topo_visible_gpus(topo);
    reason[0] = '\0';
    if (bench->needs & NEED_GPU && !gpus)
        (void)snprintf(reason, size, "%s", topo->gpu_note[0] ? topo->gpu_note : "no GPU");
    else if (bench->needs & NEED_COLLECTIVE && gpus == 0)
        (void)snprintf(reason, size, "no GPU for NCCL; over MPI: mpirun -n 2 contend bench %s",
                       bench->name);
    else if (bench->needs & NEED_COLLECTIVE && gpus == 1)
        (void)snprintf(reason, size, "one GPU only, and a collective needs two or more");
}

enum { SCENARIO_LIST, BENCH_LIST, PLACEMENT_LIST, LISTS };

/* Appends an entry of which only its name and its summary are known. */
static int grow(struct list *list, const char *name, const char *summary, struct list_entry **entry)
{
    struct list_entry *grown = realloc(list->entries, (list->n + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    list->entries = grown;
    *entry = &grown[list->n++];
    **entry = (struct list_entry){.name = name, .summary = summary};
    return 0;
}

static int gather(const struct cmd_env *env, const struct topo *topo, struct list lists[LISTS])
{
    struct list_entry *entry;
    int rc = 0;
    for (const struct scenario *s = env->scenarios; !rc && s->name; s++)
        rc = grow(&lists[SCENARIO_LIST], s->name, s->summary, &entry);
    for (const struct bench *const *b = env->benches; !rc && *b; b++) {
        rc = grow(&lists[BENCH_LIST], (*b)->name, (*b)->summary, &entry);
        if (rc)
            break;
        entry->asked = true;
        explain_bench(topo, *b, entry->not_here, sizeof(entry->not_here));
    }
    for (int p = 0; !rc && p < PLACEMENTS; p++) {
        rc = grow(&lists[PLACEMENT_LIST], placement_infos[p].name, placement_infos[p].summary,
                  &entry);
        if (rc)
            break;
        entry->asked = true;
        explain(topo, (enum placement)p, entry->not_here, sizeof(entry->not_here));
    }
    return rc;
}

static void print_text(const struct list lists[LISTS])
{
    enum { INDENT = 17 };
    static const char *const titles[LISTS] = {
        "Scenarios (contend run NAME):", "\nBenchmarks (contend bench NAME):",
        "\nPlacements (--placement):"};
    for (int l = 0; l < LISTS; l++) {
        (void)printf("%s\n", titles[l]);
        for (size_t i = 0; i < lists[l].n; i++) {
            const struct list_entry *entry = &lists[l].entries[i];
            char label[64];
            (void)snprintf(label, sizeof(label), "  %s ", entry->name);
            text_field(INDENT, label, "%s", entry->summary);
            if (entry->not_here[0])
                text_field(INDENT, "", "not here: %s", entry->not_here);
        }
    }
}

static int print_lists(const struct cmd_env *env, const struct topo *topo, bool json,
                       struct err *err)
{
    static const char *const kinds[LISTS] = {"scenarios", "benchmarks", "placements"};
    struct list lists[LISTS] = {{0}};
    int rc = gather(env, topo, lists);
    if (rc)
        (void)err_set(err, rc, "no memory for the lists");
    else if (json)
        rc = json_value_print(list_to_json(kinds, lists, LISTS), 1, err);
    else
        print_text(lists);
    for (int l = 0; l < LISTS; l++)
        free(lists[l].entries);
    return rc;
}

static int list_main(const struct cmd_env *env, int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
    struct list_options options = {0};
    struct topo topo = {0};
    int code;
    if (!cmd_parse(env, &list_command, argc, argv, &options, &cli, &code))
        return code;
    const struct topo_options topo_options = {.probe_gpus = true};
    int rc = topo_load(&topo_options, &topo, &err);
    if (!rc)
        rc = print_lists(env, &topo, options.json, &err);
    if (rc)
        log_error("%s", err.msg);
    topo_free(&topo);
    return rc ? EXIT_NOT_RUN : cmd_finish();
}

const struct command list_command = {
    .name = "list",
    .main = list_main,
    .summary = "benchmarks, scenarios, placements; what cannot run here and why",
    .about = "Prints scenarios, benchmarks and placements, and what this machine cannot express.",
    .opts = list_options,
};
