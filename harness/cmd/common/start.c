#include "harness/cmd/common/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/guard.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"
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

char *program_name(const char *argv0, char *buf, size_t size)
{
    const char *front = getenv("CONTEND_PROGRAM");
    const char *name = front && front[0] ? front : argv0 ? argv0 : "";
    size_t needs = text_shell_word(name, buf, size);
    if (!name[0] || needs >= size || strpbrk(name, "\n\r\t\033"))
        (void)snprintf(buf, size, "contend");
    return buf;
}

int program_beside(const char *name, char *path, size_t size, struct err *err)
{
    int rc = launch_find_program(path, size, err);
    char *end = rc ? NULL : strrchr(path, '/');
    if (end)
        (void)snprintf(end + 1, size - (size_t)(end + 1 - path), "%s", name);
    return rc;
}

int program_share(const char *name, char *path, size_t size, struct err *err)
{
    static const char *const folders[] = {"", "../share/contend/"};
    char program[PROGRAM_PATH_MAX];
    int rc = launch_find_program(program, sizeof(program), err);
    if (rc)
        return rc;
    char *end = strrchr(program, '/');
    for (size_t i = 0; end && i < sizeof(folders) / sizeof(folders[0]); i++) {
        int n =
            snprintf(path, size, "%.*s%s%s", (int)(end + 1 - program), program, folders[i], name);
        if (n > 0 && (size_t)n < size && !access(path, R_OK))
            return 0;
    }
    return err_set(err, -ENOENT, "%s is neither beside %.100s nor in ../share/contend", name,
                   program);
}
