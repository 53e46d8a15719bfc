#include "harness/cmd/common/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/arms/guard.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/terminal.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/process.h"
#include "harness/ranks/mpi/server.h"

/* A file that we open later must not become one of them: messages would be written into it. */
static int open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return -1;
    return 0;
}

static int run(const struct cmd_env *env, int argc, char **argv, cmd_main *main)
{
    const char *name = argc > 1 ? argv[1] : "";
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
    return is_mpi ? mpi_server_main(env->benches, argc, argv) : main(env, argc, argv);
}

int start(const struct cmd_env *env, int argc, char **argv, cmd_main *main)
{
    if (open_standard_files())
        return EXIT_NOT_RUN;
    text_fit_stdout(terminal_columns(STDOUT_FILENO));
    /* A limit on the size of files is an error of write, which is told, and not a death. */
    (void)signal(SIGXFSZ, SIG_IGN);
    process_keep_children();
    int code = run(env, argc, argv, main);
    if (fflush(stdout) && !code) {
        perror("contend: stdout");
        code = EXIT_NOT_RUN;
    }
    return code;
}

int start_tool(const struct cmd_env *env, int argc, char **argv)
{
    for (const struct tool_command *tool = env->tools; argc > 1 && tool->command; tool++)
        if (strcmp(tool->command->name, argv[1]) == 0)
            return tool->main(env, argc - 1, argv + 1);
    return env->tools->main(env, argc, argv);
}
