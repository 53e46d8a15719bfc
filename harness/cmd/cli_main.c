#include "harness/cmd/cli_main.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/start.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "version.h"

static cmd_main *command_main(const struct cmd_env *env, const struct command *command);

/* contend help: the list of commands, or the help of one. */

/* Prints the list of all commands. */
static void help_print_usage(FILE *out)
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

/* Logs that the command is unknown, with a similar one. Returns EXIT_USAGE. */
static int help_unknown_command(const struct cmd_env *env, const char *name)
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

const struct command *command_find(const char *name)
{
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

/* Keeps argv[-1], so that the tool gets the command line as typed. */
static int become_tool(const struct cmd_env *env, int argc, char **argv)
{
    (void)env;
    (void)argc;
    const struct command *command = command_find(argv[0]);
    char path[PROGRAM_PATH_MAX];
    struct err err;
    const char *name = str_fmt("contend-%s", command->tool);
    if (!program_beside(name, path, sizeof(path), &err)) {
        (void)execv(path, argv - 1);
        (void)err_sys(&err, -errno,
                      "'contend %s' needs %s, which comes with this program: cannot start '%.150s'",
                      command->name, name, path);
    }
    log_error("%s", err.msg);
    return EXIT_NOT_RUN;
}

/* The function that runs the command: its own, one of env->tools, or one that execs the tool. */
static cmd_main *command_main(const struct cmd_env *env, const struct command *command)
{
    if (command->main)
        return command->main;
    for (const struct tool_command *tool = env->tools; tool && tool->command; tool++)
        if (tool->command == command)
            return tool->main;
    return become_tool;
}

static int version_main(const struct cmd_env *env, int argc, char **argv)
{
    struct cli cli;
    int code;
    if (!cmd_parse(env, &version_command, argc, argv, NULL, &cli, &code))
        return code;
    (void)printf("contend %s", CONTEND_VERSION);
    if (contend_commit[0])
        (void)printf(" (commit %s)", contend_commit);
    (void)putchar('\n');
#ifdef CONTEND_CUDA_VERSION
    (void)printf("built with CUDA %s\n", CONTEND_CUDA_VERSION);
#endif
    return cmd_finish();
}

const struct command version_command = {
    .name = "version",
    .main = version_main,
    .summary = "version, commit and CUDA of this program",
    .about = "Prints the version, the commit and the CUDA version of this build.",
};

/* Options that select a command. */
static const struct alias {
    const char *option;
    const struct command *command;
} aliases[] = {
    {"--help", &help_command},
    {"-h", &help_command},
    {"--version", &version_command},
    {"-V", &version_command},
};

static const struct command *find_alias(const char *option)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].option, option) == 0)
            return aliases[i].command;
    return NULL;
}

int cli_main(const struct cmd_env *env, int argc, char **argv)
{
    if (argc < 2) {
        help_print_usage(stderr);
        return EXIT_USAGE;
    }
    const struct command *command = find_alias(argv[1]);
    if (!command)
        command = command_find(argv[1]);
    return command ? command_main(env, command)(env, argc - 1, argv + 1)
                   : help_unknown_command(env, argv[1]);
}
