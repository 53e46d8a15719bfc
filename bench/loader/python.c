#include "bench/loader/python.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/process.h"

/* An answer takes 20 ms, but much longer on a very busy machine. */
static const uint64_t answer_limit_ns = 20000000000ull;

static const char question[] =
    "import sys, importlib.util as util\n"
    "lock = getattr(sys, '_is_gil_enabled', lambda: True)()\n"
    "print(sys.executable, int(lock), int(util.find_spec('torch') is not None), sep='\\n')";

struct program {
    const char *const *words;
    int out_fd;
};

static int run_program(void *arg)
{
    const struct program *program = arg;
    if (dup2(program->out_fd, STDOUT_FILENO) < 0)
        return 1;
    (void)execv(program->words[0], (char *const *)program->words);
    return 1;
}

/* Reads until the other side closes the pipe; false if that takes too long or does not fit. */
static bool read_answer(int fd, uint64_t end_ns, char *answer, size_t size)
{
    size_t got = 0;
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < end_ns;) {
        struct pollfd in = {.fd = fd, .events = POLLIN};
        if (poll(&in, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0)
            continue;
        ssize_t n = read(fd, answer + got, size - 1 - got);
        if (n < 0 && errno == EINTR)
            continue;
        got += n > 0 ? (size_t)n : 0;
        answer[got] = 0;
        if (n <= 0 || got == size - 1)
            return n == 0;
    }
    return false;
}

/* Parses an answer such as "/usr/bin/python3\n1\n0\n": path, has_lock, has_torch. */
static bool parse_answer(const char *answer, struct python *python)
{
    size_t length = strcspn(answer, "\n");
    if (!length || length >= sizeof(python->path) || answer[0] != '/' ||
        strlen(answer) < length + 4)
        return false;
    (void)snprintf(python->path, sizeof(python->path), "%.*s", (int)length, answer);
    python->has_lock = answer[length + 1] != '0';
    python->has_torch = answer[length + 3] == '1';
    return true;
}

int python_run(const char *const *words, double expected_s, char *answer, size_t size,
               struct err *err)
{
    int fds[2], status = 0;
    struct process process;
    if (pipe2(fds, O_CLOEXEC))
        return err_sys(err, -errno, "cannot make a pipe");
    struct program program = {words, fds[1]};
    int rc = process_start(&process, true, run_program, &program);
    (void)close(fds[1]);
    uint64_t end_ns = clock_now_ns() + (uint64_t)(1e9 * expected_s) + answer_limit_ns;
    bool answered = !rc && read_answer(fds[0], end_ns, answer, size);
    (void)close(fds[0]);
    if (rc)
        return err_sys(err, rc, "cannot start %s", words[0]);
    if (!answered)
        (void)process_signal_group(&process, SIGKILL);
    process_wait(&process, &status);
    return answered && WIFEXITED(status) && !WEXITSTATUS(status)
               ? 0
               : err_set(err, -EIO, "%.200s failed", words[0]);
}

int python_find(const char *name, struct python *python, struct err *err)
{
    char path[PYTHON_PATH_MAX], answer[PYTHON_PATH_MAX + 16] = "";
    *python = (struct python){.path = ""};
    if (file_find_program(name, true, path, sizeof(path)))
        return err_set(err, -ENOTSUP, "no %s in PATH", name);
    const char *const words[] = {path, "-c", question, NULL};
    int rc = python_run(words, 0, answer, sizeof(answer), err);
    if (rc == -EIO || (!rc && !parse_answer(answer, python)))
        rc = err_set(err, -ENOTSUP, "%.200s does not run", path);
    return rc;
}

int python_find_free(struct python *python, struct err *err)
{
    static const char *const names[] = {"python3.13t", "python3.14t", "python3.15t"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!python_find(names[i], python, NULL) && !python->has_lock)
            return 0;
    *python = (struct python){.path = ""};
    return err_set(err, -ENOTSUP, "no Python without the interpreter's lock (python3.13t) in PATH");
}
