#include "harness/cmd/cli_main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/program.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/log.h"
#include "version.h"

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

cmd_main *command_main(const struct cmd_env *env, const struct command *command)
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
