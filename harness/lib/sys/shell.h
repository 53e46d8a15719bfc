/* Runs a shell command and keeps the begin of its output: with a time limit, and until a signal. */
#ifndef CONTEND_LIB_SYS_SHELL_H
#define CONTEND_LIB_SYS_SHELL_H

#include <stdbool.h>
#include <stddef.h>

struct shell {
    const char *line;
    double limit_s;
    bool with_errors;         /* keeps stderr too; else it is that of this process */
    bool (*stops)(void *arg); /* true: end it now; asked 50 times a second; NULL = never */
    void *stops_arg;
};

/*
 * Waits for the end of the shell, whether or not its output is open, then returns 0 and *status for
 * waitpid's macros. Output that does not fit into `text` is dropped. -ETIME and -EINTR: it did not
 * end within the limit, or before `stops`, and was killed with its process group; other -errno: it
 * could not be started.
 */
int shell_run(const struct shell *shell, char *text, size_t size, int *status);

#endif
