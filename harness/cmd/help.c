/* contend help: the list of commands, or the help of one. */
#include <string.h>

#include "harness/cmd/cli_main.h"
#include "harness/cmd/common/help.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

void help_print_usage(FILE *out)
{
    (void)fprintf(out, "usage: contend COMMAND [options]\n\n");
    text_wrap(help_about, 0, 0, out);
    (void)fputc('\n', out);
    const char *group = "";
    for (const struct command *const *c = command_table; *c; c++) {
        if (!(*c)->group)
            continue;
        if (strcmp((*c)->group, group) != 0)
            (void)fprintf(out, "%s:\n", (*c)->group);
        group = (*c)->group;
        text_wrap((*c)->summary, fprintf(out, "  %-10s ", (*c)->name), 13, out);
    }
    (void)fprintf(out, "\n'contend COMMAND --help' has examples and options, --help-all all of "
                       "them.\nExit codes:\n");
    for (const struct help_exit_code *e = help_exit_codes; e->meaning; e++)
        (void)fprintf(out, "  %-10d %s\n", (int)e->code, e->meaning);
}

int help_unknown_command(const struct cmd_env *env, const char *name)
{
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
    if (name[0] == '-' && !near.name)
        log_error("'%.80s' must follow the command, as in 'contend run -n 4'", name);
    else
        log_error("unknown command '%.80s'%s see 'contend --help'", name,
                  similar_hint(&near, prefix));
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
    return command_main(env, command)(env, n - 1, asked + 1);
}

const struct command help_command = {
    .name = "help",
    .main = help_main,
    .summary = "this list, or the help of a command",
    .operands = "[COMMAND [NAME]]",
    .about = "Prints the help of a command, as its --help does, or the list of commands.",
};
