#include "harness/engine/setup.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/engine/worker/command_bench.h"
#include "harness/plan/placeholders.h"

static int check_text(const char *text, bool is_ready, struct err *err)
{
    static const struct placeholder_values any = {"0", "0", "0", "0", "0", "0", "1"};
    struct command_ready ready;
    char *expanded = placeholders_expand(text, &any, err);
    int rc = expanded && is_ready ? command_ready_parse(expanded, &ready, err) : 0;
    free(expanded);
    return expanded ? rc : -EINVAL;
}

/* Refuses unknown placeholders before anything starts. Values that a worker lacks are refused when
 * the worker is launched. */
static int check_placeholders(const struct command_options *options, char *const *argv,
                              struct err *err)
{
    int rc = options->metric_file ? check_text(options->metric_file, false, err) : 0;
    if (!rc && options->load)
        rc = check_text(options->load, false, err);
    if (!rc && options->ready)
        rc = check_text(options->ready, true, err);
    for (size_t i = 0; argv[i] && !rc; i++)
        rc = check_text(argv[i], false, err);
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
