/* contend completion: prints the completion script of a shell. */
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/shell/offer.h"
#include "harness/lib/base/similar.h"
#include "harness/lib/say/log.h"

const struct completion_shell completion_shells[] = {
    {"bash", completion_print_bash},
    {"zsh", completion_print_zsh},
    {"fish", completion_print_fish},
    {.name = NULL},
};

static int unknown_shell(const char *typed)
{
    char hint[SIMILAR_HINT_MAX];
    struct similar near = similar_to(typed, strlen(typed));
    for (const struct completion_shell *shell = completion_shells; shell->name; shell++)
        similar_offer(&near, shell->name);
    log_error("no completion for '%.80s'%s known: bash, zsh, fish", typed,
              similar_hint(&near, "", hint, sizeof(hint)));
    return EXIT_USAGE;
}

static int completion_main(const struct cmd_env *env, int argc, char **argv)
{
    struct cli cli;
    int code;
    if (!cmd_parse(env, &completion_command, argc, argv, NULL, &cli, &code))
        return code;
    if (cli.npositional != 1) {
        log_error("no shell: type 'contend completion bash', zsh or fish");
        return EXIT_USAGE;
    }
    for (const struct completion_shell *shell = completion_shells; shell->name; shell++)
        if (strcmp(shell->name, cli.positional[0]) == 0) {
            shell->print(env, stdout);
            return cmd_finish();
        }
    return unknown_shell(cli.positional[0]);
}

const struct command completion_command = {
    .name = "completion",
    .main = completion_main,
    .summary = "completion of command lines for bash, zsh or fish, as a script",
    .operands = "SHELL",
    .about = "Prints the script that completes commands, options and names in bash, zsh or fish. "
             "'./contend install' installs it. To try it: source <(contend completion bash), or: "
             "contend completion fish | source",
};
