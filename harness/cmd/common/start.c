#include "harness/cmd/common/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/guard.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/terminal.h"
#include "harness/lib/text.h"

/* Opens missing standard descriptors. Else a file opened later could get the number of stderr, and
 * messages would be written into it. */
static int open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return -1;
    return 0;
}

bool start(const struct cmd_env *env, int argc, char **argv, int *code)
{
    const char *name = argc > 1 ? argv[1] : "";
    *code = EXIT_NOT_RUN;
    if (open_standard_files())
        return true;
    text_fit_stdout(terminal_columns(STDOUT_FILENO));
    /* With SIGXFSZ ignored, a file size limit makes write fail, which is reported. */
    (void)signal(SIGXFSZ, SIG_IGN);
    process_keep_children();
    bool is_worker = strcmp(name, LAUNCH_WORKER_COMMAND) == 0;
    bool is_guard = strcmp(name, LAUNCH_GUARD_COMMAND) == 0;
    if (is_worker || is_guard) {
        launch_take_name();
        (void)signal(SIGPIPE, SIG_IGN); /* libraries may print to a pipe without a reader */
    }
    if (!is_worker && !is_guard)
        affinity_restore(); /* libgomp may have narrowed the mask, for OMP_PROC_BIND */
    if (is_worker)
        *code = worker_main(env->benches, argc, argv);
    else if (is_guard)
        *code = guard_main(argc, argv);
    return is_worker || is_guard;
}

int end(int code)
{
    if (fflush(stdout) && !code) {
        perror("contend: stdout");
        return EXIT_NOT_RUN;
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
