#include "harness/engine/setup.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/engine/worker/command_bench.h"
#include "harness/lib/text.h"
#include "harness/machine/env.h"
#include "harness/plan/placeholders.h"

static int check_text(const char *text, bool is_ready, bool keeps, struct err *err)
{
    static const struct placeholder_values any = {{"0", "0", "0", "0", "0", "0", "1"}};
    struct command_ready ready;
    char *expanded = placeholders_expand(text, &any, err);
    int rc = expanded && is_ready ? command_ready_parse(expanded, &ready, err) : 0;
    if (keeps &&
        (placeholders_use(text, PLACEHOLDER_THREADS) || placeholders_use(text, PLACEHOLDER_CPUS) ||
         placeholders_use(text, PLACEHOLDER_NODE)))
        rc = err_set(err, -EINVAL,
                     "--keep is not for {threads}, {cpus} and {node}, which placements change");
    free(expanded);
    return expanded ? rc : -EINVAL;
}

/* Refuses unknown placeholders before anything starts. Values that a worker lacks are refused when
 * the worker is launched. */
static int check_placeholders(const struct command_options *options, char *const *argv,
                              struct err *err)
{
    int rc = options->metric_file ? check_text(options->metric_file, false, options->keep, err) : 0;
    if (!rc && options->load)
        rc = check_text(options->load, false, options->keep, err);
    if (!rc && options->ready)
        rc = check_text(options->ready, true, options->keep, err);
    for (size_t i = 0; argv[i] && !rc; i++)
        rc = check_text(argv[i], false, options->keep, err);
    return rc;
}

int setup_commands(const struct run_options *options, struct run_setup *setup, struct err *err)
{
    int rc = 0;
    if (options->ncommands)
        rc = command_check(&options->command, err);
    for (size_t i = 0; i < options->ncommands && !rc; i++)
        rc = check_placeholders(&options->command, options->commands[i], err);
    for (size_t i = 0; options->neighbours && i < options->neighbours->n && !rc; i++)
        rc = check_placeholders(&options->neighbours->all[i].options,
                                options->neighbours->all[i].argv, err);
    const char *bound = options->protect ? options->protect : options->command.slo;
    if (!rc && bound)
        rc = slo_parse(bound, options->protect, &setup->slo, err);
    if (!rc && options->protect)
        rc = neighbours_find(options->neighbours, setup->slo.metric, err) ? 0 : -EINVAL;
    if (rc || !options->ncommands)
        return rc;
    setup->command = (struct user_command){.options = options->command,
                                           .ready_limit_s = options->setup_limit_s,
                                           .argv = options->commands[0]};
    setup->config.command = &setup->command;
    setup->result.slo = bound ? &setup->slo : NULL;
    setup->result.neighbours = options->neighbours;
    setup->result.command =
        options->ncommands == 1 && !options->neighbours ? options->commands[0] : NULL;
    return 0;
}

static int check_keep(const struct result *result, struct err *err)
{
    const struct variants *variants = result->variants;
    if (result->purpose == PURPOSE_TUNE)
        return err_set(err, -EINVAL,
                       "tune --keep needs --cores: a running server does not change its threads");
    for (size_t v = 0; variants && v < variants->n; v++)
        if (!variant_only_places(&variants->all[v]))
            return err_set(err, -EINVAL,
                           "variant '%s': with --keep a variant changes nothing but placement:P",
                           variants->all[v].name);
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].workers != result->arms[0].workers)
            return err_set(err, -EINVAL,
                           "--keep needs the same number of servers everywhere: type -n %u",
                           result->arms[0].workers);
    return 0;
}

/* What the arm changes besides CPUs, or NULL; GPUs from those of `first`. */
static const char *find_change(const struct arm *arm, const struct arm *first)
{
    const unsigned threads = arm->plan.threads;
    for (unsigned w = 0; w < arm->workers; w++) {
        const struct plan_worker *worker = &arm->plan.workers[w];
        if (worker->passive)
            return "how its threads wait";
        if (worker->mem_policy != MEM_DEFAULT)
            return "its memory policy";
        if (worker->gpu != first->plan.workers[w].gpu)
            return "its GPU";
    }
    return arm->placement == PLACE_SIZED || (threads && threads != openmp_threads(getenv))
               ? "its number of threads"
               : NULL;
}

int setup_keep(struct run_setup *setup, struct err *err)
{
    struct result *result = &setup->result;
    const struct arm *first = NULL;
    struct kept *kept = setup->config.kept = &setup->kept;
    if (check_keep(result, err))
        return -EINVAL;
    kept->end_s = setup->command.options.grace_s + 10;
    result->on_nodes = setup->config.topo->nnodes > 1;
    for (struct arm *arm = result->arms; arm < result->arms + result->narms; arm++) {
        const unsigned n = arm->workers + arm_background(arm);
        const char *change =
            arm->plan.status == PLAN_OK ? find_change(arm, first ? first : arm) : NULL;
        kept->n = n > kept->n ? n : kept->n;
        if (change) {
            text_set(arm->plan.reason, "--keep: a running server keeps %s", change);
            plan_skip(&arm->plan);
        }
        if (!first && arm->plan.status == PLAN_OK)
            first = arm;
        for (unsigned w = 0; arm->plan.status == PLAN_OK && w < arm->workers; w++)
            bitset_or(&result->kept_cpus, &arm->plan.workers[w].cpus);
    }
    return 0;
}

const struct bench *setup_command_bench(const struct run_options *run_options, const char *name,
                                        struct run_setup *setup)
{
    if (run_options->neighbours)
        return &run_options->neighbours->bench;
    const struct command_options *options = &run_options->command;
    const struct bench *bench = run_options->ncommands ? command_bench_find(name) : NULL;
    const char *unit = command_rate_unit(options);
    size_t timed;
    if (!bench || (!unit && !options->load))
        return bench;
    (void)command_bench_metrics(options, setup->command_metrics, &timed);
    setup->command_bench = *bench;
    setup->command_bench.metrics = setup->command_metrics;
    setup->command_bench.rate_unit = unit ? unit : bench->rate_unit;
    return &setup->command_bench;
}
