#include "harness/cmd/cli_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/help.h"
#include "harness/engine/arms/guard.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/process.h"
#include "harness/ranks/mpi/server.h"
#include "version.h"

const struct command *const command_table[] = {
    &run_command,
    &exec_command,
    &bench_command,
    &ab_command,
    &tune_command,
    &sizing_command,
    &list_command,
    &topo_command,
    &place_command,
    &validate_command,
    &report_command,
    &compare_command,
    &history_command,
    &baseline_command,
    &selfcheck_command,
    &doctor_command,
    &top_command,
    &comms_command,
    &help_command,
    &version_command,
    &completion_command,
    &man_command,
    NULL,
};

const struct command *command_find(const char *name)
{
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

bool cmd_parse(const struct cmd_env *env, const struct command *command, int argc, char **argv,
               void *args, struct cli *cli, int *code)
{
    struct err err;
    int rc = cli_parse(command->opts, command->takes_params, argc, argv, args, cli, &err);
    if (!rc && cli->help) {
        help_print_command(env, command);
        *code = cmd_finish();
        return false;
    }
    if (!rc && cli->npositional && !command->operands)
        rc = err_set(&err, -EINVAL, "unexpected argument '%.80s'; see 'contend %s --help'",
                     cli->positional[0], command->name);
    if (rc)
        log_error("%s", err.msg);
    *code = EXIT_USAGE;
    return !rc;
}

enum exit_code cmd_not_measured(int rc)
{
    return rc == -EINTR ? EXIT_INTERRUPTED : EXIT_NOT_RUN;
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

/* A file that we open later must not become one of them: messages would be written into it. */
static int open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return -1;
    return 0;
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
    .summary = "which contend this is: version, commit, CUDA",
    .about = "Prints the version, the commit that it was built from, and with which CUDA.",
};

/* The options that stand for a command. */
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

static int run_command_line(const struct cmd_env *env, int argc, char **argv)
{
    if (argc < 2) {
        help_print_usage(stderr);
        return EXIT_USAGE;
    }
    const struct command *command = find_alias(argv[1]);
    if (!command)
        command = command_find(argv[1]);
    return command ? command->main(env, argc - 1, argv + 1) : help_unknown_command(env, argv[1]);
}

int cli_main(const struct cmd_env *env, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (open_standard_files())
        return EXIT_NOT_RUN;
    text_fit_stdout(terminal_columns(STDOUT_FILENO));
    /* A limit on the size of files is an error of write, which is told, and not a death. */
    (void)signal(SIGXFSZ, SIG_IGN);
    process_keep_children();
    bool is_worker = strcmp(name, LAUNCH_WORKER_COMMAND) == 0;
    bool is_mpi = strcmp(name, LAUNCH_MPI_COMMAND) == 0;
    bool is_guard = strcmp(name, LAUNCH_GUARD_COMMAND) == 0;
    if (is_worker || is_mpi || is_guard) {
        launch_take_name();
        (void)signal(SIGPIPE, SIG_IGN); /* what libraries say may go where nobody reads */
    }
    if (is_worker)
        return worker_main(env->benches, argc, argv);
    if (is_guard)
        return guard_main(argc, argv);
    affinity_put_back(); /* what is measured is the machine, not what OMP_PROC_BIND left of it */
    if (is_mpi)
        return mpi_server_main(env->benches, argc, argv);
    return run_command_line(env, argc, argv);
}
