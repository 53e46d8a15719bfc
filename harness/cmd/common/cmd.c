#include "harness/cmd/common/cmd.h"

#include <errno.h>
#include <string.h>

#include "harness/cmd/common/help.h"
#include "harness/lib/sys/log.h"

/* -EINVAL unless the command takes operands; `word` is the first. */
static int check_word(const struct command *command, const char *word, struct err *err)
{
    if (command->word_option)
        return err_set(err, -EINVAL,
                       "unexpected argument '%.80s'; a process is named by its number, as in --%s "
                       "%.80s",
                       word, command->word_option,
                       word[strspn(word, "0123456789")] ? "4711" : word);
    if (!command->operands)
        return err_set(err, -EINVAL, "unexpected argument '%.80s'; see 'contend %s --help'", word,
                       command->name);
    if (strstr(command->operands, "[--"))
        return err_set(err, -EINVAL,
                       "unexpected argument '%.80s'; a command goes after '--', as in 'contend %s "
                       "-- %.80s'",
                       word, command->name, word);
    return 0;
}

bool cmd_parse(const struct cmd_env *env, const struct command *command, int argc, char **argv,
               void *args, struct cli *cli, int *code)
{
    struct err err;
    int rc = cli_parse(command->opts, command->takes_params, argc, argv, args, cli, &err);
    if (!rc && cli->help) {
        help_print_command(env, command, cli->help_all);
        *code = cmd_finish();
        return false;
    }
    if (!rc && cli->npositional)
        rc = check_word(command, cli->positional[0], &err);
    if (rc)
        log_error("%s", err.msg);
    *code = EXIT_USAGE;
    return !rc;
}

enum exit_code cmd_not_measured(int rc)
{
    return rc == -EINTR ? EXIT_INTERRUPTED : EXIT_NOT_RUN;
}

int cmd_worse(int one, int other)
{
    int most = one > other ? one : other, least = one > other ? other : one;
    return most == EXIT_INCONCLUSIVE && least ? least : most;
}

int cmd_finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_GOOD;
    log_error("cannot write to stdout: %s", strerror(errno));
    return EXIT_NOT_RUN;
}

int cmd_print_json(json_t *json, int indent)
{
    struct err err;
    if (json_value_print(json, indent, &err) == 0)
        return cmd_finish();
    log_error("%s", err.msg);
    return EXIT_NOT_RUN;
}
