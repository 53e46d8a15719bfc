#include "harness/engine/arms/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"
#include "harness/lib/say/log.h"
#include "harness/lib/sys/clock.h"

/* Orders for a guard: run argv[3 + order]. */
enum order { ORDER_BEFORE, ORDER_AFTER, ORDER_CHECK, ORDERS };
static const char *const order_names[ORDERS] = {"before", "after", "check"};

struct request {
    unsigned serial;
    enum order order;
};

struct answer {
    unsigned serial; /* of the request, to discard late answers to earlier requests */
    int status;      /* of the command: exit code, 128 + signal, GUARD_TIMED_OUT or GUARD_REFUSED */
    char text[VARIANT_READ_BACK_MAX];
};

enum { TICK_MS = 20, LIMIT_S = 60, GUARD_TIMED_OUT = -1, GUARD_REFUSED = -2 };

/* ---- in the guard ---- */

struct command {
    const char *text;
    int out_fd;
};

static int become_shell(void *arg)
{
    const struct command *command = arg;
    return process_become_shell(command->text, command->out_fd, command->out_fd);
}

/* Reads the output so far; drops what does not fit. */
static void take_output(int fd, struct answer *answer, size_t *used)
{
    char piece[512];
    ssize_t n;
    while ((n = read(fd, piece, sizeof(piece))) > 0) {
        size_t room = sizeof(answer->text) - 1 - *used;
        size_t taken = (size_t)n < room ? (size_t)n : room;
        memcpy(answer->text + *used, piece, taken);
        *used += taken;
    }
}

/* Keeps the first line. */
static void trim(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

/* Waits for the command's exit: its output may stay open in processes that it left behind. */
static void await(struct process *process, int out_fd, struct answer *answer)
{
    uint64_t until_ns = clock_now_ns() + UINT64_C(1000000000) * LIMIT_S;
    size_t used = 0;
    int status = 0;
    bool timed_out = false;
    while (!process_ended(process, &status)) {
        struct pollfd more = {.fd = out_fd, .events = POLLIN};
        if (poll(&more, 1, TICK_MS) > 0 && (more.revents & POLLHUP))
            (void)usleep(1000); /* it closed its output and runs on */
        take_output(out_fd, answer, &used);
        timed_out = timed_out || clock_now_ns() >= until_ns;
        if (timed_out)
            (void)process_signal_group(process, SIGKILL);
    }
    take_output(out_fd, answer, &used);
    trim(answer->text);
    answer->status = timed_out           ? GUARD_TIMED_OUT
                     : WIFEXITED(status) ? WEXITSTATUS(status)
                                         : 128 + WTERMSIG(status);
}

static void run_command(const char *text, unsigned serial, struct answer *answer)
{
    int pipe_fd[2];
    struct process process;
    *answer = (struct answer){.serial = serial};
    if (!text[0])
        return;
    answer->status = GUARD_REFUSED;
    if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK))
        return;
    struct command command = {text, pipe_fd[1]};
    int rc = process_start(&process, true, become_shell, &command);
    (void)close(pipe_fd[1]);
    if (!rc)
        await(&process, pipe_fd[0], answer);
    (void)close(pipe_fd[0]);
}

int guard_main(int argc, char **argv)
{
    enum { ARGUMENTS = 3 + ORDERS };
    bool to_undo = false;
    struct answer answer;
    if (argc < ARGUMENTS)
        return 2;
    (void)prctl(PR_SET_PDEATHSIG, 0); /* undo process_start's: a guard outlives its parent */
    int fd = (int)strtol(argv[2], NULL, 10);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    for (struct request request;
         recv(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);) {
        if (request.order == ORDER_BEFORE)
            to_undo = true;
        run_command(argv[3 + (int)request.order], request.serial, &answer);
        if (request.order == ORDER_AFTER && !answer.status)
            to_undo = false;
        if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    if (to_undo)
        run_command(argv[3 + ORDER_AFTER], 0, &answer);
    return 0;
}

/* ---- in the process that measures ---- */

static const char *command_of(const struct variant *variant, enum order order)
{
    const char *const commands[ORDERS] = {variant->before, variant->after, variant->check};
    return commands[order];
}

static int report_failure(const struct variant *variant, enum order order,
                          const struct answer *answer, struct err *err)
{
    char how[64];
    if (answer->status == GUARD_TIMED_OUT)
        (void)snprintf(how, sizeof(how), "did not end within %d s", LIMIT_S);
    else if (answer->status == GUARD_REFUSED)
        (void)snprintf(how, sizeof(how), "could not be started");
    else
        (void)snprintf(how, sizeof(how), "ended with exit code %d", answer->status);
    return err_set(err, -ECANCELED, "variant '%s': %s '%.80s' %s%s%.80s", variant->name,
                   order_names[order], command_of(variant, order), how, answer->text[0] ? ": " : "",
                   answer->text);
}

/*
 * Returns 0; -EINTR: a signal asks us to end, and the guard undoes by itself; -ECHILD: the guard is
 * gone. Ctrl-Z stops us (*stopped), but not the guard, whose command runs to its end.
 */
static int await_answer(const struct guard *guard, struct signals *signals, struct answer *answer,
                        bool *stopped)
{
    struct pollfd fds[] = {{.fd = guard->fd, .events = POLLIN},
                           {.fd = signals->fd, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return -ECHILD;
        if (signals_take(signals))
            return -EINTR;
        if (signals->stop_requested) {
            signals->stop_requested = false;
            process_stop_self();
            *stopped = true;
            continue;
        }
        if (!fds[0].revents)
            continue;
        if (recv(guard->fd, answer, sizeof(*answer), 0) != (ssize_t)sizeof(*answer))
            return -ECHILD;
        if (answer->serial == guard->serial)
            return 0;
    }
}

static int send_request(struct guards *guards, size_t v, enum order order, struct signals *signals,
                        struct answer *answer, struct err *err)
{
    const struct variant *variant = &guards->variants->all[v];
    struct guard *guard = &guards->guard[v];
    *answer = (struct answer){0};
    if (!guard->fd || !command_of(variant, order))
        return 0;
    const struct request request = {++guard->serial, order};
    bool sent =
        send(guard->fd, &request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request);
    bool stopped = false;
    int rc = sent ? await_answer(guard, signals, answer, &stopped) : -ECHILD;
    if (rc == -ECHILD)
        return err_set(err, rc, "variant '%s': the process that runs its commands is gone",
                       variant->name);
    answer->text[sizeof(answer->text) - 1] = '\0';
    if (!rc && answer->status)
        rc = report_failure(variant, order, answer, err);
    /* A check stays valid after a stop, as it measures nothing. */
    return !rc && stopped && order != ORDER_CHECK ? -ERESTART : rc;
}

static int check(struct guards *guards, size_t v, struct signals *signals,
                 char text[static VARIANT_READ_BACK_MAX], struct err *err)
{
    struct answer answer;
    int rc = send_request(guards, v, ORDER_CHECK, signals, &answer, err);
    if (!rc)
        memcpy(text, answer.text, sizeof(answer.text));
    return rc;
}

static int start(struct guard *guard, const struct variant *variant, struct err *err)
{
    int fd[2];
    const char *commands[ORDERS];
    for (int i = 0; i < ORDERS; i++)
        commands[i] = command_of(variant, (enum order)i) ? command_of(variant, (enum order)i) : "";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
        return err_sys(err, -errno, "no socket to who runs the commands of variant '%s'",
                       variant->name);
    int rc = launch_guard(fd[1], commands, &guard->process, err);
    (void)close(fd[1]);
    if (rc)
        (void)close(fd[0]);
    else
        guard->fd = fd[0];
    return rc;
}

int guards_open(struct guards *guards, struct variants *variants, struct signals *signals,
                struct err *err)
{
    int rc = 0;
    *guards = (struct guards){.variants = variants};
    for (size_t v = 0; variants && v < variants->n && !rc; v++) {
        const struct variant *variant = &variants->all[v];
        if (!variant->before && !variant->after && !variant->check)
            continue;
        rc = start(&guards->guard[v], variant, err);
        if (!rc)
            rc = check(guards, v, signals, variants->state[v].initial, err);
    }
    return rc;
}

/* The index of the arm's variant; VARIANTS_MAX = none. */
static size_t variant_index(const struct guards *guards, const struct arm *arm)
{
    for (size_t v = 0; guards->variants && v < guards->variants->n; v++)
        if (arm->variant == &guards->variants->all[v])
            return v;
    return VARIANTS_MAX;
}

int guards_before(struct guards *guards, const struct arm *arm, struct signals *signals,
                  struct err *err)
{
    struct answer answer;
    size_t v = variant_index(guards, arm);
    if (v == VARIANTS_MAX)
        return 0;
    int rc = send_request(guards, v, ORDER_BEFORE, signals, &answer, err);
    return rc ? rc : check(guards, v, signals, guards->variants->state[v].during, err);
}

int guards_after(struct guards *guards, const struct arm *arm, struct signals *signals,
                 struct err *err)
{
    struct answer answer;
    size_t v = variant_index(guards, arm);
    return v == VARIANTS_MAX ? 0 : send_request(guards, v, ORDER_AFTER, signals, &answer, err);
}

static void report_read_back(const struct variant *variant, const struct variant_state *state)
{
    if (!variant->check)
        return;
    if (strcmp(state->initial, state->final) != 0)
        log_warn("variant '%s' is not undone: its check said '%s' at first, and says '%s' now",
                 variant->name, state->initial, state->final);
    if (variant->before && !strcmp(state->initial, state->during))
        log_warn("variant '%s' changed nothing that its check sees: '%s' with and without it",
                 variant->name, state->initial);
}

/* Runs `check` for the final state. `none` has no signals: this check is not interrupted. */
static void check_final_state(struct guards *guards, size_t v)
{
    struct variant_state *state = &guards->variants->state[v];
    struct signals none = {.fd = -1};
    struct err err = {0};
    if (check(guards, v, &none, state->final, &err))
        log_warn("%s", err.msg);
    else
        report_read_back(&guards->variants->all[v], state);
}

void guards_close(struct guards *guards)
{
    for (size_t v = 0; guards->variants && v < guards->variants->n; v++) {
        struct guard *guard = &guards->guard[v];
        int status;
        if (!guard->fd)
            continue;
        check_final_state(guards, v);
        (void)close(guard->fd);
        process_wait(&guard->process, &status);
        *guard = (struct guard){0};
    }
}
