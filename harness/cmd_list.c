/* contend list: benchmarks, scenarios, placements; what cannot run here, and why. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/cli.h"
#include "harness/cmd.h"
#include "harness/core/log.h"
#include "harness/plan.h"
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

static void print_text(const struct cmd_env *env, const struct topo *topo)
{
    (void)printf("Scenarios (contend run NAME):\n");
    for (const struct scenario *s = env->scenarios; s->name; s++)
        (void)printf("  %-12s %s\n", s->name, s->summary);
    (void)printf("\nBenchmarks (contend bench NAME):\n");
    for (const struct bench *const *b = env->benches; *b; b++)
        (void)printf("  %-12s %s\n", (*b)->name, (*b)->summary);
    (void)printf("\nPlacements (--placement):\n");
    for (int p = 0; p < PLACEMENTS; p++) {
        char reason[300];
        (void)printf("  %-12s %s\n", placement_infos[p].name, placement_infos[p].summary);
        explain(topo, (enum placement)p, reason, sizeof(reason));
        if (reason[0])
            (void)printf("  %-12s not here: %s\n", "", reason);
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

static json_t *entry(const char *name, const char *summary)
{
    return json_pack("{s:s, s:s}", "name", name, "summary", summary);
}

static void print_json(const struct cmd_env *env, const struct topo *topo)
{
    json_t *scenarios = json_array(), *benches = json_array(), *placements = json_array();
    for (const struct scenario *s = env->scenarios; s->name; s++)
        (void)json_array_append_new(scenarios, entry(s->name, s->summary));
    for (const struct bench *const *b = env->benches; *b; b++)
        (void)json_array_append_new(benches, entry((*b)->name, (*b)->summary));
    for (int p = 0; p < PLACEMENTS; p++) {
        char reason[300];
        explain(topo, (enum placement)p, reason, sizeof(reason));
        json_t *one = entry(placement_infos[p].name, placement_infos[p].summary);
        (void)json_object_set_new(one, "not_here", reason[0] ? json_string(reason) : json_null());
        (void)json_array_append_new(placements, one);
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
