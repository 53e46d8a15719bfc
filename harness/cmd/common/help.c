#include "harness/cmd/common/help.h"

#include <string.h>

#include "harness/cmd/common/named.h"
#include "harness/lib/base/similar.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"

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

void help_print_usage(FILE *out)
{
    (void)fprintf(out, "usage: contend COMMAND [options]\n\n");
    text_wrap(help_about, 0, 0, out);
    (void)fputc('\n', out);
    for (const struct command *const *c = command_table; *c; c++)
        text_wrap((*c)->summary, fprintf(out, "  %-10s ", (*c)->name), 13, out);
    (void)fprintf(out, "\n'contend COMMAND --help' tells more; 'contend --version' which this "
                       "is.\nExit codes:\n");
    for (const struct help_exit_code *e = help_exit_codes; e->meaning; e++)
        (void)fprintf(out, "  %-10d %s\n", (int)e->code, e->meaning);
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

int help_unknown_command(const struct cmd_env *env, const char *name)
{
    char hint[SIMILAR_HINT_MAX];
    const char *prefix = "";
    struct similar near = similar_to(name, strlen(name));
    for (const struct command *const *c = command_table; *c; c++)
        similar_offer(&near, (*c)->name);
    similar_offer(&near, "--help");
    similar_offer(&near, "--version");
    if (scenario_find(env->scenarios, name)) {
        prefix = "run ";
        near.name = name;
    } else if (bench_find(env->benches, name)) {
        prefix = "bench ";
        near.name = name;
    }
    log_error("unknown command '%.80s'%s see 'contend --help'", name,
              similar_hint(&near, prefix, hint, sizeof(hint)));
    return EXIT_USAGE;
}

/* "help run pipeline" is "run pipeline --help". */
static int help_main(const struct cmd_env *env, int argc, char **argv)
{
    char help[] = "--help", *asked[CLI_LIST_MAX];
    int n = 0;
    if (argc < 2 || argv[1][0] == '-') {
        help_print_usage(stdout);
        return cmd_finish();
    }
    const struct command *command = command_find(argv[1]);
    if (!command)
        return help_unknown_command(env, argv[1]);
    asked[n++] = argv[-1];
    for (int i = 1; i < argc && n < CLI_LIST_MAX - 2; i++)
        asked[n++] = argv[i];
    asked[n++] = help;
    asked[n] = NULL;
    return command->main(env, n - 1, asked + 1);
}

const struct command help_command = {
    .name = "help",
    .main = help_main,
    .summary = "this list, or the help of a command",
    .operands = "[COMMAND [NAME]]",
    .about = "Prints the help of a command, as its --help does; without one the list of commands.",
};
