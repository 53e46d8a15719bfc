#include "harness/cmd/common/help.h"

#include <string.h>

#include "harness/cmd/common/named.h"
#include "harness/lib/base/text.h"

const struct opt help_param_option[] = {
    {
        .name = "param",
        .kind = OPT_TEXT,
        .arg = "NAME=VALUE",
        .help = "A parameter of what is measured; the help of a scenario or a benchmark lists them",
        .letter = 'p',
    },
    {.name = NULL},
};

const char help_about[] =
    "Reproduces, measures and explains contention between CPU-heavy workers that feed GPUs, and "
    "shows which placement removes it.";

const struct help_exit_code help_exit_codes[] = {
    {EXIT_GOOD, "good"},
    {EXIT_VERDICT, "a verdict failed: a check of validate, or what --fail-on names"},
    {EXIT_USAGE, "usage or bad input"},
    {EXIT_NOT_RUN, "something did not run, or nothing could be measured"},
    {EXIT_INCONCLUSIVE, "nothing was shown; with --strict: the machine was too busy"},
    {EXIT_INTERRUPTED, "interrupted; finished rounds are kept"},
    {.meaning = NULL},
};

static void print_entry(const char *name, const char *summary)
{
    char label[64];
    (void)snprintf(label, sizeof(label), "  %s ", name);
    text_field(17, label, "%s", summary);
}

static void print_about(const char *text)
{
    (void)putchar('\n');
    text_wrap(text, 0, 0, stdout);
}

static void print_choices(const struct cmd_env *env, const struct command *command)
{
    const char *operands = command->operands;
    if (strstr(operands, "SCENARIO")) {
        (void)printf("\nScenarios ('contend run SCENARIO --help' shows the parameters of one):\n");
        for (const struct scenario *s = env->scenarios; s->name; s++)
            if (!command->is_task || named_is_task(env, s))
                print_entry(s->name, s->summary);
    }
    if (strstr(operands, "BENCH")) {
        (void)printf("\nBenchmarks ('contend bench BENCH --help' shows the parameters of one):\n");
        for (const struct bench *const *b = env->benches; *b; b++)
            print_entry((*b)->name, (*b)->summary);
    }
}

char *help_format_usage(const struct command *command, char *buf, size_t size)
{
    const char *operands = command->operands ? command->operands : "";
    const char *gap = operands[0] ? " " : "", *options = command->opts ? " [options]" : "";
    const char *params = command->takes_params ? " [-p NAME=VALUE]..." : "";
    if (strstr(operands, "--")) /* behind it nothing is ours */
        (void)snprintf(buf, size, "contend %s%s%s%s%s", command->name, options, params, gap,
                       operands);
    else
        (void)snprintf(buf, size, "contend %s%s%s%s%s", command->name, gap, operands, options,
                       params);
    return buf;
}

void help_print_command(const struct cmd_env *env, const struct command *command)
{
    char usage[HELP_USAGE_MAX];
    text_wrap(help_format_usage(command, usage, sizeof(usage)), printf("usage: "), 7, stdout);
    print_about(command->about);
    if (command->operands)
        print_choices(env, command);
    if (command->opts)
        (void)printf("\nOptions:\n");
    opts_print_help(command->opts, "--", stdout);
    if (command->takes_params)
        opts_print_help(help_param_option, "--", stdout);
}

static void print_parameters(const struct bench *bench)
{
    if (!bench->opts) {
        (void)printf("\n%s has no parameters.\n", bench->name);
        return;
    }
    (void)printf("\nParameters of %s (-p NAME=VALUE):\n", bench->name);
    opts_print_help(bench->opts, "", stdout);
}

static void print_where_options_are(const char *command)
{
    (void)printf("\n'contend %s --help' shows the options.\n", command);
}

void help_print_bench(const struct bench *bench)
{
    (void)printf("usage: contend bench %s [options] [-p NAME=VALUE]...\n", bench->name);
    print_about(bench->summary);
    print_parameters(bench);
    print_where_options_are("bench");
}

void help_print_scenario(const struct cmd_env *env, const struct scenario *scenario)
{
    (void)printf("usage: contend run %s [options] [-p NAME=VALUE]...\n", scenario->name);
    print_about(scenario->summary);
    for (const struct scenario_part *part = scenario->parts; part->foreground; part++) {
        const struct bench *bench = bench_find(env->benches, part->foreground);
        bool again = scenario_repeats(scenario, part);
        if (bench && bench->opts && !again)
            print_parameters(bench);
        if (part->params)
            (void)printf(again ? "  and measures it again with %s, the rest by default\n"
                               : "  this scenario sets %s\n",
                         part->params);
    }
    print_where_options_are("run");
}
