#include "harness/cmd/cli_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cli.h"
#include "harness/base/text.h"
#include "harness/mpi/server.h"
#include "harness/say/log.h"
#include "harness/sys/affinity.h"
#include "harness/sys/process.h"
#include "harness/sys/terminal.h"
#include "harness/worker/launch.h"
#include "harness/worker/worker.h"
#include "version.h"

static const struct command {
    const char *name;
    cmd_main *main;
    const char *summary;
} commands[] = {
    {"run", cmd_run, "the main job: workers under each placement, compared"},
    {"bench", cmd_bench, "one benchmark alone"},
    {"list", cmd_list, "benchmarks, scenarios, placements; what cannot run here and why"},
    {"topo", cmd_topo, "the machine: packages, NUMA, caches, cores, SMT, GPUs, what is near what"},
    {"place", cmd_place, "the plan for N workers, and the commands that apply it"},
    {"report", cmd_report, "the figures of an earlier run, drawn again"},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *out)
{
    (void)fprintf(out, "usage: contend COMMAND [options]\n\n"
                       "Reproduces, measures and explains contention between CPU-heavy workers "
                       "that\nfeed GPUs, and shows which placement removes it.\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        (void)fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out, "\n'contend COMMAND --help' tells more; 'contend --version' which this is."
                       "\nExit codes: 0 good, 2 usage or bad input, 3 something did not run, "
                       "130 interrupted.\n");
}

static int unknown(const char *name)
{
    if (name[0])
        log_error("unknown command '%.80s'", name);
    print_usage(stderr);
    return EXIT_USAGE;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* "help run" is "run --help". */
static int print_help(const struct cmd_env *env, char **argv, const char *name)
{
    char help[] = "--help";
    char *asked[] = {argv[0], argv[2], help, NULL};
    const struct command *command = find_command(name);
    return command ? command->main(env, 2, asked + 1) : unknown(name);
}

bool cmd_parse(const struct opt *opts, const char *about, int argc, char **argv, void *args,
               int *code)
{
    struct cli cli;
    struct err err;
    int rc = cli_parse(opts, false, argc, argv, args, &cli, &err);
    if (!rc && cli.help) {
        (void)printf("usage: contend %s [options]\n\n%s\n\n", argv[0], about);
        opts_print_help(opts, "--", stdout);
        *code = cmd_finish();
        return false;
    }
    if (!rc && cli.npositional)
        rc = err_set(&err, -EINVAL, "unexpected argument '%.80s'; see 'contend %s --help'",
                     cli.positional[0], argv[0]);
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
    if (is_worker || is_mpi)
        launch_take_name();
    if (is_worker)
        return worker_main(env->benches, argc, argv);
    affinity_put_back(); /* what is measured is the machine, not what OMP_PROC_BIND left of it */
    if (is_mpi)
        return mpi_server_main(env->benches, argc, argv);
    if (!strcmp(name, "help") && argc > 2 && argv[2][0] != '-')
        return print_help(env, argv, argv[2]);
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_usage(stdout);
        return EXIT_GOOD;
    }
    if (strcmp(name, "--version") == 0) {
        (void)printf("contend %s\n", CONTEND_VERSION);
#ifdef CONTEND_CUDA_VERSION
        (void)printf("built with CUDA %s\n", CONTEND_CUDA_VERSION);
#endif
        return EXIT_GOOD;
    }
    const struct command *command = find_command(name);
    return command ? command->main(env, argc - 1, argv + 1) : unknown(name);
}
