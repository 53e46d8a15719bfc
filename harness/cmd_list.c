/* contend list: benchmarks, scenarios, placements; what cannot run here, and why. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/cli.h"
#include "harness/cmd.h"
#include "harness/core/log.h"
#include "harness/plan.h"
#include "harness/text.h"
#include "harness/topo.h"

#include <jansson.h>

struct list_options {
    bool json, markdown;
};

static const struct opt list_options[] = {
    {.name = "json",
     .kind = OPT_FLAG,
     .offset = offsetof(struct list_options, json),
     .help = "Print JSON"},
    {.name = "markdown",
     .kind = OPT_FLAG,
     .offset = offsetof(struct list_options, markdown),
     .help = "Print the README's tables, which do not depend on the machine"},
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
    else if (bench->needs & NEED_NUMA && topo->nnodes < 2)
        (void)snprintf(reason, size, "the system reports one NUMA node");
}

static void print_entry(const char *name, const char *summary, const char *not_here)
{
    enum { INDENT = 17 };
    char label[64];
    (void)snprintf(label, sizeof(label), "  %s ", name);
    text_field(INDENT, label, "%s", summary);
    if (not_here[0])
        text_field(INDENT, "", "not here: %s", not_here);
}

static void print_text(const struct cmd_env *env, const struct topo *topo)
{
    char reason[300];
    (void)printf("Scenarios (contend run NAME):\n");
    for (const struct scenario *s = env->scenarios; s->name; s++)
        print_entry(s->name, s->summary, "");
    (void)printf("\nBenchmarks (contend bench NAME):\n");
    for (const struct bench *const *b = env->benches; *b; b++) {
        explain_bench(topo, *b, reason, sizeof(reason));
        print_entry((*b)->name, (*b)->summary, reason);
    }
    (void)printf("\nPlacements (--placement):\n");
    for (int p = 0; p < PLACEMENTS; p++) {
        explain(topo, (enum placement)p, reason, sizeof(reason));
        print_entry(placement_infos[p].name, placement_infos[p].summary, reason);
    }
}

static void print_markdown(const struct cmd_env *env)
{
    (void)printf("| scenario | what it does |\n|---|---|\n");
    for (const struct scenario *s = env->scenarios; s->name; s++)
        (void)printf("| `%s` | %s |\n", s->name, s->summary);
    (void)printf("\n| benchmark | what it measures |\n|---|---|\n");
    for (const struct bench *const *b = env->benches; *b; b++)
        (void)printf("| `%s` | %s |\n", (*b)->name, (*b)->summary);
    (void)printf("\n| placement | meaning |\n|---|---|\n");
    for (int p = 0; p < PLACEMENTS; p++)
        (void)printf("| `%s` | %s |\n", placement_infos[p].name, placement_infos[p].summary);
}

/* `not_here`: NULL where that is not asked. */
static json_t *entry(const char *name, const char *summary, const char *not_here)
{
    json_t *one = json_pack("{s:s, s:s}", "name", name, "summary", summary);
    if (not_here)
        (void)json_object_set_new(one, "not_here",
                                  not_here[0] ? json_string(not_here) : json_null());
    return one;
}

static void print_json(const struct cmd_env *env, const struct topo *topo)
{
    char reason[300];
    json_t *scenarios = json_array(), *benches = json_array(), *placements = json_array();
    for (const struct scenario *s = env->scenarios; s->name; s++)
        (void)json_array_append_new(scenarios, entry(s->name, s->summary, NULL));
    for (const struct bench *const *b = env->benches; *b; b++) {
        explain_bench(topo, *b, reason, sizeof(reason));
        (void)json_array_append_new(benches, entry((*b)->name, (*b)->summary, reason));
    }
    for (int p = 0; p < PLACEMENTS; p++) {
        explain(topo, (enum placement)p, reason, sizeof(reason));
        (void)json_array_append_new(
            placements, entry(placement_infos[p].name, placement_infos[p].summary, reason));
    }
    json_t *all = json_pack("{s:o, s:o, s:o}", "scenarios", scenarios, "benchmarks", benches,
                            "placements", placements);
    (void)json_dumpf(all, stdout, JSON_INDENT(1));
    (void)putchar('\n');
    json_decref(all);
}

int cmd_list(const struct cmd_env *env, int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
    struct list_options options = {0};
    struct topo topo = {0};
    if (cli_parse(list_options, false, argc, argv, &options, &cli, &err)) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    if (cli.help || cli.npositional) {
        (void)fprintf(cli.help ? stdout : stderr,
                      "usage: contend list [--json|--markdown]\n\nPrints "
                      "scenarios, benchmarks and placements, and "
                      "what this machine cannot express.\n");
        return cli.help ? EXIT_GOOD : EXIT_USAGE;
    }
    if (options.markdown) {
        print_markdown(env);
        return EXIT_GOOD;
    }
    const struct topo_options topo_options = {.probe_gpus = true};
    int rc = topo_load(&topo_options, &topo, &err);
    if (rc)
        log_error("%s", err.msg);
    else if (options.json)
        print_json(env, &topo);
    else
        print_text(env, &topo);
    topo_free(&topo);
    return rc ? EXIT_NOT_RUN : EXIT_GOOD;
}
